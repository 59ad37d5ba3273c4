/* A plan file's text to rows: pl_plan_file_read(). */
#include "placement/speed.h"
#include "plan/file.h"
#include "plan/file_rows.h"
#include "schedules/csv.h"

#include <math.h>
#include <string.h>

enum {
    DEPTH = 5,         /* file, nodes, node, order, axes                             */
    MOST_LINEAR = 126, /* a choice is an int8_t                                      */
    DIGITS = 16,       /* of a digest                                                */
};

typedef struct reader {
    pl_arena *a;
    pl_plan_file *f;
    pl_err *err;
} reader;

/* -- members of objects ------------------------------------------------------------------------ */

static bool is_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (n && strcspn(at, " ") == n && !strncmp(at, word, n)) return true;
    return false;
}

/* Is it an object with no key but these? `what` it is to be, for the message. */
static bool check_object(const reader *r, const pl_json *x, const char *what, const char *keys)
{
    if (!pl_json_is(x, PL_JSON_OBJECT))
        return pl_err_set(r->err, PL_EINPUT, "%s is needed, with the keys %s", what, keys);
    for (int i = 0; i < x->n; i++)
        if (!is_word(keys, x->at[i].key))
            return pl_err_set(r->err, PL_EINPUT, "no key is called '%.40s'; there are %s",
                              x->at[i].key, keys);
    return true;
}

static bool find_list(const reader *r, const pl_json *object, const char *key, const pl_json **list)
{
    return pl_json_get(object, key, PL_JSON_LIST, list, r->err);
}

static bool find_object(const reader *r, const pl_json *object, const char *key,
                        const pl_json **out)
{
    return pl_json_get(object, key, PL_JSON_OBJECT, out, r->err);
}

static bool read_text(const reader *r, const pl_json *object, const char *key, const char **out)
{
    return pl_json_get_text(object, key, out, r->err);
}

/* The parser refuses numbers that no double holds. */
static bool read_real(const reader *r, const pl_json *object, const char *key, double *out)
{
    const pl_json *x = pl_json_find(object, key);
    *out = pl_json_real(x);
    return (pl_json_is_number(x) && isfinite(*out) && *out >= 0) ||
           pl_err_set(r->err, PL_EINPUT, "'%s' is %s: a number of at least 0 is needed", key,
                      x ? "another value" : "missing");
}

/* -- the head ---------------------------------------------------------------------------------- */

/* *version: of the schema. */
static bool read_schema(const reader *r, const pl_json *root, int *version)
{
    static const char *const schemas[] = { PL_PLAN_SCHEMA_1, PL_PLAN_SCHEMA_2, PL_PLAN_SCHEMA_3,
                                           PL_PLAN_SCHEMA };
    enum { NEWEST = sizeof schemas / sizeof *schemas };
    const char *schema;
    PL_TRY(read_text(r, root, "schema", &schema));
    for (*version = 1; *version <= NEWEST; ++*version)
        if (!strcmp(schema, schemas[*version - 1])) return true;
    return pl_err_set(r->err, PL_EINPUT,
                      "'schema' is '%.60s', and this version of pleat knows " PL_PLAN_SCHEMA_1
                      ", " PL_PLAN_SCHEMA_2 ", " PL_PLAN_SCHEMA_3 " and " PL_PLAN_SCHEMA
                      ": plan again",
                      schema);
}

/* Has it "regather" for "kept"? */
static bool is_version_1(const pl_json *root)
{
    return !strcmp(pl_json_find(root, "schema")->text, PL_PLAN_SCHEMA_1);
}

/* Something that a plan seldom has: where nothing is said it does not. */
static bool read_true(const reader *r, const pl_json *root, const char *key, bool *is)
{
    const pl_json *x = pl_json_find(root, key);
    *is = x && pl_json_is(x, PL_JSON_TRUE);
    return !x || *is || pl_err_set(r->err, PL_EINPUT, "'%s' is true, or not there", key);
}

/* Before version 3 nobody said it. */
static bool read_micro(const reader *r, const pl_json *root, int version)
{
    r->f->micro = 1;
    if (version < 3) return true;
    PL_TRY(pl_json_get_count(root, "micro", &r->f->micro, r->err));
    return r->f->micro >= 1 ||
           pl_err_set(r->err, PL_EINPUT, "'micro' is 0: a step has one micro-batch at least");
}

static bool read_graph(const reader *r, const pl_json *root)
{
    const pl_json *x;
    const char *digest;
    int64_t n;
    PL_TRY(find_object(r, root, "graph", &x));
    if (!check_object(r, x, "an object", "nodes digest") ||
        !pl_json_get_count(x, "nodes", &n, r->err) || !read_text(r, x, "digest", &digest))
        return pl_err_in(r->err, "graph");
    if (n > INT32_MAX)
        return pl_err_set(r->err, PL_EINPUT, "graph: %lld nodes are too many", (long long)n);
    if (strlen(digest) != DIGITS || strspn(digest, "0123456789abcdef") != DIGITS)
        return pl_err_set(r->err, PL_EINPUT, "graph: 'digest' is not %d hexadecimal digits",
                          DIGITS);
    r->f->n_nodes = (int)n;
    for (r->f->graph = 0; *digest; digest++)
        r->f->graph =
            r->f->graph << 4 | (uint64_t)(*digest <= '9' ? *digest - '0' : *digest - 'a' + 10);
    return true;
}

/* A name that can stand in the text of a placement. */
static bool check_axis_name(const reader *r, const char *name)
{
    size_t room = sizeof r->f->mesh.axis[0].name;
    if (!*name || strlen(name) >= room)
        return pl_err_set(r->err, PL_EINPUT, "an axis name of %zu bytes: it has 1 to %zu",
                          strlen(name), room - 1);
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < 0x20 || strchr(",:;]}", *at))
            return pl_err_set(r->err, PL_EINPUT, "axis '%s': a name has none of , : ; ] }", name);
    return pl_mesh_find(&r->f->mesh, name) < 0 ||
           pl_err_set(r->err, PL_EINPUT, "two axes are named '%s'", name);
}

static bool add_axis(const reader *r, const pl_json *x)
{
    pl_mesh *m = &r->f->mesh;
    const char *name;
    int64_t size;
    PL_TRY(check_object(r, x, "an object", "axis size"));
    PL_TRY(read_text(r, x, "axis", &name));
    PL_TRY(check_axis_name(r, name));
    PL_TRY(pl_json_get_count(x, "size", &size, r->err));
    if (size < 1 || size > PL_CLUSTER_DEVICES / pl_mesh_ranks(m))
        return pl_err_set(r->err, PL_EINPUT,
                          "axis '%s' has %lld devices, those before it %d: at least 1, and %d in "
                          "all, can be",
                          name, (long long)size, pl_mesh_ranks(m), PL_CLUSTER_DEVICES);
    memcpy(m->axis[m->n].name, name, strlen(name) + 1);
    m->axis[m->n++].size = (int)size;
    return true;
}

static bool read_mesh(const reader *r, const pl_json *root)
{
    const pl_json *list;
    PL_TRY(find_list(r, root, "mesh", &list));
    if (list->n > PL_MAX_AXES)
        return pl_err_set(r->err, PL_EINPUT, "'mesh' has %d axes, at most %d can be", list->n,
                          PL_MAX_AXES);
    for (int i = 0; i < list->n; i++)
        if (!add_axis(r, &list->at[i])) return pl_err_in(r->err, "mesh[%d]", i);
    return true;
}

static bool read_cluster(const reader *r, const pl_json *root)
{
    pl_plan_file *f = r->f;
    pl_cluster *c;
    PL_TRY(read_text(r, root, "cluster", &f->about.cluster));
    const char *text = f->about.cluster;
    if (!*text) return true;
    PL_TRY(pl_cluster_parse(text, strlen(text), "cluster", r->a, &c, r->err));
    if (pl_mesh_ranks(&f->mesh) != c->n_devices)
        return pl_err_set(r->err, PL_EINPUT, "'mesh' has %d devices, cluster '%s' %d",
                          pl_mesh_ranks(&f->mesh), c->name, c->n_devices);
    f->cluster = c;
    return pl_speed_links(&f->mesh, c, r->err);
}

#define HEAD "schema model optimizer strategy cluster graph mesh predicted stored nodes "

/* By version. */
static const char *const keys[] = {
    HEAD "regather", HEAD "kept recomputed", HEAD "kept recomputed micro",
    HEAD "kept recomputed micro pipeline stages masters unclipped no_momentum "
         "decayed undecayed cache caches objectives"
};

static bool read_cache(const reader *r, const pl_json *x, pl_plan_cache *out)
{
    const char *const keys_of =
        "cache found rows bytes move_seconds step_seconds memory_bytes fits";
    const pl_json *fits = pl_json_find(x, "fits");
    PL_TRY(check_object(r, x, "an object", keys_of) && read_text(r, x, "cache", &out->size));
    out->fits = fits && pl_json_is(fits, PL_JSON_TRUE);
    return read_real(r, x, "found", &out->found) && read_real(r, x, "rows", &out->rows) &&
           read_real(r, x, "bytes", &out->bytes) &&
           read_real(r, x, "move_seconds", &out->move_seconds) &&
           read_real(r, x, "step_seconds", &out->step_seconds) &&
           read_real(r, x, "memory_bytes", &out->memory_bytes);
}

static bool read_caches(const reader *r, const pl_json *root)
{
    pl_plan_about *about = &r->f->about;
    const pl_json *list;
    about->cache = "";
    about->objectives = NULL;
    if (pl_json_find(root, "objectives"))
        PL_TRY(read_text(r, root, "objectives", &about->objectives));
    if (pl_json_find(root, "cache")) PL_TRY(read_text(r, root, "cache", &about->cache));
    if (!pl_json_find(root, "caches")) return true;
    PL_TRY(find_list(r, root, "caches", &list));
    pl_plan_cache *at = PL_NEW_N(r->a, pl_plan_cache, list->n + 1);
    for (int i = 0; i < list->n; i++)
        if (!read_cache(r, &list->at[i], &at[i])) return pl_err_in(r->err, "caches[%d]", i);
    about->n_caches = list->n, about->caches = at;
    return true;
}

static bool read_numbers(const reader *r, const pl_json *root, pl_plan_numbers *out)
{
    return read_true(r, root, "unclipped", &out->unclipped) &&
           read_true(r, root, "no_momentum", &out->no_momentum) &&
           read_true(r, root, "decayed", &out->decayed) &&
           read_true(r, root, "undecayed", &out->undecayed);
}

static bool read_head(const reader *r, const pl_json *root)
{
    pl_plan_about *about = &r->f->about;
    const pl_json *x;
    int version;
    PL_TRY(read_schema(r, root, &version));
    PL_TRY(check_object(r, root, "an object", keys[version - 1]));
    PL_TRY(read_micro(r, root, version));
    PL_TRY(read_true(r, root, "masters", &r->f->masters));
    PL_TRY(read_numbers(r, root, &about->numbers));
    PL_TRY(read_text(r, root, "model", &about->model));
    PL_TRY(read_text(r, root, "optimizer", &about->optimizer));
    PL_TRY(read_text(r, root, "strategy", &about->strategy));
    PL_TRY(read_caches(r, root));
    PL_TRY(read_graph(r, root));
    PL_TRY(read_mesh(r, root));
    PL_TRY(read_cluster(r, root));
    PL_TRY(find_object(r, root, "predicted", &x));
    if (check_object(r, x, "an object", "step_seconds lower_bound_seconds memory_bytes") &&
        read_real(r, x, "step_seconds", &about->step_seconds) &&
        read_real(r, x, "lower_bound_seconds", &about->bound_seconds) &&
        read_real(r, x, "memory_bytes", &about->memory_bytes))
        return true;
    return pl_err_in(r->err, "predicted");
}

/* -- rows -------------------------------------------------------------------------------------- */

static bool find_axis(const reader *r, const char *name, int *axis)
{
    const pl_mesh *m = &r->f->mesh;
    pl_text all = { .arena = r->a };
    *axis = pl_mesh_find(m, name);
    if (*axis >= 0) return true;
    for (int a = 0; a < m->n; a++) pl_text_add(&all, a ? ", %s" : " %s", m->axis[a].name);
    return pl_err_set(r->err, PL_EINPUT, "the mesh has no axis '%.40s'; it has%s", name,
                      m->n ? pl_text_get(&all) : " none");
}

/* A list of axes, none twice; `*set` is their bits. */
static bool read_axes(const reader *r, const pl_json *object, const char *key, int *n,
                      int axis[PL_MAX_AXES], unsigned *set)
{
    const pl_json *list;
    *n = 0;
    *set = 0;
    PL_TRY(find_list(r, object, key, &list));
    for (int i = 0; i < list->n; i++) {
        const char *name = list->at[i].text;
        int a;
        if (!name) return pl_err_set(r->err, PL_EINPUT, "'%s': the name of an axis is needed", key);
        PL_TRY(find_axis(r, name, &a));
        if (*set >> a & 1)
            return pl_err_set(r->err, PL_EINPUT, "'%s' names axis '%s' twice", key,
                              r->f->mesh.axis[a].name);
        *set |= 1u << a;
        axis[(*n)++] = a;
    }
    return *n || pl_err_set(r->err, PL_EINPUT, "'%s' names no axis: leave it out", key);
}

static bool read_tensor(const reader *r, const pl_json *x, const char **tensor, pl_placement *where,
                        int *dims)
{
    const char *text;
    PL_TRY(check_object(r, x, "an object", "tensor placement"));
    PL_TRY(read_text(r, x, "tensor", tensor));
    if (!read_text(r, x, "placement", &text) ||
        !pl_placement_parse(text, &r->f->mesh, where, r->err))
        return pl_err_in(r->err, "'%.60s'", *tensor);
    *dims = 1;
    for (; *text; text++) *dims += *text == ';';
    return true;
}

/* Of version 1: moved for the forward pass it is not kept, unless it is split over these axes. */
static bool read_regather(const reader *r, const pl_json *x, pl_kept_row *row)
{
    int axis[PL_MAX_AXES], n;
    row->by_axes = true;
    row->axes = UINT8_MAX;
    PL_TRY(check_object(r, x, "an object", "tensor unless"));
    PL_TRY(read_text(r, x, "tensor", &row->tensor));
    return !pl_json_find(x, "unless") || read_axes(r, x, "unless", &n, axis, &row->axes) ||
           pl_err_in(r->err, "'%.60s'", row->tensor);
}

static bool read_kept(const reader *r, const pl_json *root, pl_plan_rows *rows)
{
    const bool by_axes = is_version_1(root);
    const char *key = by_axes ? "regather" : "kept";
    const pl_json *list;
    PL_TRY(find_list(r, root, key, &list));
    rows->kept = PL_NEW_N(r->a, pl_kept_row, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        pl_kept_row *row = &rows->kept[rows->n_kept++];
        const bool ok = by_axes
                            ? read_regather(r, &list->at[i], row)
                            : read_tensor(r, &list->at[i], &row->tensor, &row->where, &row->dims);
        if (!ok) return pl_err_in(r->err, "%s[%d]", key, i);
    }
    return true;
}

static bool read_recomputed(const reader *r, const pl_json *root, pl_plan_rows *rows)
{
    const pl_json *list;
    if (is_version_1(root)) return true;
    PL_TRY(find_list(r, root, "recomputed", &list));
    rows->recomputed = PL_NEW_N(r->a, const char *, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        rows->recomputed[rows->n_recomputed++] = list->at[i].text;
        if (!list->at[i].text)
            return pl_err_set(r->err, PL_EINPUT, "recomputed[%d]: the name of a tensor is needed",
                              i);
    }
    return true;
}

static bool read_stored(const reader *r, const pl_json *root, pl_plan_rows *rows)
{
    const pl_json *list;
    PL_TRY(find_list(r, root, "stored", &list));
    rows->stored = PL_NEW_N(r->a, pl_stored_row, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        pl_stored_row *row = &rows->stored[rows->n_stored++];
        if (!read_tensor(r, &list->at[i], &row->tensor, &row->where, &row->dims))
            return pl_err_in(r->err, "stored[%d]", i);
    }
    return true;
}

/* "m", or "linear:0" */
static bool read_factor(const reader *r, const char *text, int8_t *factor)
{
    const size_t n = strlen(PL_PLAN_LINEAR);
    int64_t set;
    if (!strncmp(text, PL_PLAN_LINEAR, n) && pl_text_int(text + n, &set) && set >= 0 &&
        set <= MOST_LINEAR) {
        *factor = (int8_t)(PL_LINEAR - set);
        return true;
    }
    *factor = (int8_t)*text;
    return (*factor > ' ' && !text[1]) ||
           pl_err_set(r->err, PL_EINPUT,
                      "'%.40s' is neither the letter of a factor nor " PL_PLAN_LINEAR "N", text);
}

/* A node on the host may split nothing. */
static bool read_split(const reader *r, const pl_json *object, bool on_host, pl_choice *c)
{
    const pl_json *split;
    if (on_host && !pl_json_find(object, "split")) return true;
    PL_TRY(find_object(r, object, "split", &split));
    for (int i = 0; i < split->n; i++) {
        const char *name = split->at[i].key, *text;
        int axis;
        PL_TRY(find_axis(r, name, &axis));
        PL_TRY(read_text(r, split, name, &text));
        PL_TRY(read_factor(r, text, &c->factor[axis]));
    }
    return split->n || pl_err_set(r->err, PL_EINPUT, "'split' names no axis: leave the node out");
}

/* The axes on a letter, major first. Levels say so where it is not the order of the mesh. */
static bool read_order(const reader *r, const pl_json *order, const char *letter, pl_choice *c)
{
    int axis[PL_MAX_AXES], n;
    unsigned named, split = 0;
    bool turned = false;
    PL_TRY(read_axes(r, order, letter, &n, axis, &named));
    for (int a = 0; a < r->f->mesh.n; a++)
        if (*letter && !letter[1] && c->factor[a] == *letter) split |= 1u << a;
    if (named != split)
        return pl_err_set(r->err, PL_EINPUT, "'%.40s' names other axes than 'split' has for it",
                          letter);
    for (int i = 1; i < n; i++) turned |= axis[i] < axis[i - 1];
    for (int i = 0; i < n && turned; i++) c->level[axis[i]] = (int8_t)i;
    return true;
}

static bool read_orders(const reader *r, const pl_json *object, pl_choice *c)
{
    const pl_json *order;
    if (!pl_json_find(object, "order")) return true;
    PL_TRY(find_object(r, object, "order", &order));
    for (int i = 0; i < order->n; i++)
        if (!read_order(r, order, order->at[i].key, c)) return pl_err_in(r->err, "order");
    return true;
}

static bool read_on(const reader *r, const pl_json *object, bool *on_host)
{
    const char *on;
    *on_host = false;
    if (!pl_json_find(object, "on")) return true;
    PL_TRY(read_text(r, object, "on", &on));
    *on_host = !strcmp(on, PL_PLAN_HOST);
    return *on_host || pl_err_set(r->err, PL_EINPUT, "'on' is '%.40s', not " PL_PLAN_HOST, on);
}

static bool read_node(const reader *r, const pl_json *x, pl_node_row *row)
{
    PL_TRY(check_object(r, x, "an object", "node split order on"));
    PL_TRY(read_text(r, x, "node", &row->node));
    memset(row->choice.factor, PL_COPIED, sizeof row->choice.factor);
    return (read_on(r, x, &row->on_host) && read_split(r, x, row->on_host, &row->choice) &&
            read_orders(r, x, &row->choice)) ||
           pl_err_in(r->err, "'%.60s'", row->node);
}

static bool read_passes(const reader *r, const pl_json *pipeline, pl_plan_rows *rows)
{
    const pl_json *list;
    pl_text passes = { .arena = r->a };
    pl_pipeline order;
    PL_TRY(find_list(r, pipeline, "rows", &list));
    for (int i = 0; i < list->n; i++) {
        if (!list->at[i].text)
            return pl_err_set(r->err, PL_EINPUT, "rows[%d]: the passes of a rank are needed", i);
        pl_text_add(&passes, "%s\n", list->at[i].text);
    }
    rows->passes = pl_text_get(&passes);
    PL_TRY(pl_pipeline_csv_read(rows->passes, strlen(rows->passes), rows->schedule, r->a, &order,
                                r->err));
    if (order.n_ranks != r->f->mesh.axis[rows->axis].size || order.n_micro != r->f->micro)
        return pl_err_set(r->err, PL_EINPUT,
                          "rows: a schedule of %d ranks and %d micro-batches; axis '%s' has %d, "
                          "and 'micro' is %lld",
                          order.n_ranks, order.n_micro, r->f->mesh.axis[rows->axis].name,
                          r->f->mesh.axis[rows->axis].size, (long long)r->f->micro);
    return true;
}

/* An empty object: there is none. */
static bool read_pipeline(const reader *r, const pl_json *root, pl_plan_rows *rows)
{
    const pl_json *x;
    const char *axis;
    rows->axis = -1;
    if (!pl_json_find(root, "pipeline") && !pl_json_find(root, "stages")) return true;
    PL_TRY(find_object(r, root, "pipeline", &x));
    if (!x->n) return true;
    return (check_object(r, x, "an object", "axis schedule rows") &&
            read_text(r, x, "axis", &axis) && find_axis(r, axis, &rows->axis) &&
            read_text(r, x, "schedule", &rows->schedule) && read_passes(r, x, rows)) ||
           pl_err_in(r->err, "pipeline");
}

static bool read_stages(const reader *r, const pl_json *root, pl_plan_rows *rows)
{
    const pl_json *list;
    if (!pl_json_find(root, "pipeline") && !pl_json_find(root, "stages")) return true;
    PL_TRY(find_list(r, root, "stages", &list));
    rows->stage = PL_NEW_N(r->a, pl_stage_row, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        pl_stage_row *row = &rows->stage[rows->n_stages++];
        int64_t stage;
        if (!check_object(r, &list->at[i], "an object", "node stage") ||
            !read_text(r, &list->at[i], "node", &row->node) ||
            !pl_json_get_count(&list->at[i], "stage", &stage, r->err))
            return pl_err_in(r->err, "stages[%d]", i);
        row->stage = stage > INT32_MAX ? INT32_MAX : (int)stage;
    }
    return true;
}

static bool read_rows(const reader *r, const pl_json *root, pl_plan_rows *rows)
{
    const pl_json *nodes;
    PL_TRY(read_stored(r, root, rows));
    PL_TRY(read_kept(r, root, rows));
    PL_TRY(read_recomputed(r, root, rows));
    PL_TRY(read_pipeline(r, root, rows) && read_stages(r, root, rows));
    PL_TRY(find_list(r, root, "nodes", &nodes));
    rows->node = PL_NEW_N(r->a, pl_node_row, nodes->n + 1);
    for (int i = 0; i < nodes->n; i++)
        if (!read_node(r, &nodes->at[i], &rows->node[rows->n_nodes++]))
            return pl_err_in(r->err, "nodes[%d]", i);
    return true;
}

bool pl_plan_file_read(const char *text, size_t n, pl_arena *a, pl_plan_file *out, pl_err *err)
{
    pl_plan_rows *rows = PL_NEW(a, pl_plan_rows);
    const pl_json *root;
    *out = (pl_plan_file){ .rows = rows };
    const reader r = { .a = a, .f = out, .err = err };
    return pl_json_parse(text, n, DEPTH, a, &root, err) && read_head(&r, root) &&
           read_rows(&r, root, rows);
}
