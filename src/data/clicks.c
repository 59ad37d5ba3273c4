/* A log of clicks becomes tensors in memory. Read pl_data_clicks_open() at the end: what its
 * columns are (find_columns), how many lines there are (count_lines), then each line
 * (read_line). */
#include "data/clicks.h"

#include "data/ids.h"
#include "data/rows.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zlib.h>

/* -- lines ------------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 4096, MOST_LINE = 1 << 20, BUFFER = 1 << 18 };

typedef struct reader {
    const char *path;
    gzFile file; /* reads what is not compressed too */
    int64_t line;
    char *text; /* [MOST_LINE] the line, cut into its fields */
    char separator;
    int n;
    char *field[MOST_COLUMNS];
} reader;

static bool open_log(reader *r, const char *path, pl_arena *arena, pl_err *err)
{
    *r = (reader){ .path = path, .text = PL_NEW_N(arena, char, MOST_LINE) };
    errno = 0;
    r->file = gzopen(path, "rb");
    if (!r->file)
        return pl_err_set(err, PL_EINPUT, "%s: %s", path,
                          errno ? strerror(errno) : "out of memory");
    gzbuffer(r->file, BUFFER);
    return true;
}

static void close_log(reader *r)
{
    if (r->file) gzclose(r->file);
    r->file = NULL;
}

/* False without an error: the file is at its end. */
static bool next_line(reader *r, pl_err *err)
{
    int code;
    if (!gzgets(r->file, r->text, MOST_LINE)) {
        const char *why = gzerror(r->file, &code);
        if (code != Z_OK && code != Z_STREAM_END)
            return pl_err_set(err, PL_EINPUT, "%s: after line %lld: %s", r->path,
                              (long long)r->line, code == Z_ERRNO ? strerror(errno) : why);
        return false;
    }
    r->line++;
    size_t n = strlen(r->text);
    if (n == MOST_LINE - 1 && r->text[n - 1] != '\n')
        return pl_err_set(err, PL_EINPUT, "%s: line %lld is longer than %d bytes: is it a log?",
                          r->path, (long long)r->line, MOST_LINE - 2);
    while (n && (r->text[n - 1] == '\n' || r->text[n - 1] == '\r')) r->text[--n] = 0;
    return true;
}

/* Cut the line into fields. */
static bool cut_line(reader *r, pl_err *err)
{
    r->n = 0;
    for (char *at = r->text; at; r->n++) {
        if (r->n == MOST_COLUMNS)
            return pl_err_set(err, PL_EINPUT, "%s: line %lld has more than %d columns", r->path,
                              (long long)r->line, MOST_COLUMNS);
        r->field[r->n] = at;
        at = strchr(at, r->separator);
        if (at) *at++ = 0;
    }
    return true;
}

/* -- columns ----------------------------------------------------------------------------------- */

typedef struct columns {
    int n; /* of the file */
    bool header;
    int label, n_dense, n_ids;
    int dense[MOST_COLUMNS], id[MOST_COLUMNS];
    int dense_wanted, ids_wanted; /* of the model */
    int64_t hots;                 /* ids of a row in a table, the most; a log has one */
    int input[MOST_COLUMNS];  /* by column of ids, the first of those of its input "cat_FIRST" */
    int tables[MOST_COLUMNS]; /* by the first column of an input: that stand in one and are
                                     looked up at once, in ids [batch, tables]; 0: ids [batch] */
} columns;

/* Columns of the input whose first one this is. */
static int width_of(const columns *c, int first)
{
    return c->tables[first] ? c->tables[first] : 1;
}

static bool is_label(const char *name)
{
    return !strcasecmp(name, "label") || !strcasecmp(name, "click");
}

static bool is_number_name(const char *name)
{
    if (toupper((unsigned char)*name) != 'I' || !name[1]) return false;
    return strspn(name + 1, "0123456789") == strlen(name + 1);
}

static bool name_columns(const reader *r, columns *c, pl_err *err)
{
    c->header = true;
    c->label = -1;
    for (int i = 0; i < r->n; i++) {
        const char *name = r->field[i];
        if (is_label(name))
            c->label = i;
        else if (is_number_name(name))
            c->dense[c->n_dense++] = i;
        else if (strcasecmp(name, "id") != 0)
            c->id[c->n_ids++] = i;
    }
    return c->label >= 0 ||
           pl_err_set(err, PL_EINPUT,
                      "%s: line 1 begins with '%s', which is no label, and as a header it has no "
                      "column 'label' or 'click'",
                      r->path, r->field[0]);
}

static void count_columns(const reader *r, columns *c)
{
    for (int i = 1; i < r->n; i++)
        if (c->n_dense < c->dense_wanted)
            c->dense[c->n_dense++] = i;
        else
            c->id[c->n_ids++] = i;
}

/* Of an input of ids, "cat_3"; -1: it is none. */
static int column_of(const char *input)
{
    const char *digits = input + 4;
    if (strncmp(input, "cat_", 4) != 0 || !*digits || digits[strspn(digits, "0123456789")])
        return -1;
    const long at = strtol(digits, NULL, 10);
    return at < MOST_COLUMNS ? (int)at : -1;
}

/* Tables that stand in one and are looked up at once; 0: it is one alone. */
static int count_tables(const pl_graph *g, const pl_value *ids)
{
    const pl_value *table = pl_ids_table(g, ids);
    if (!table || table->shape.rank < 3) return 0;
    return table->shape.dim[0] < MOST_COLUMNS ? (int)table->shape.dim[0] : MOST_COLUMNS;
}

static void count_inputs(const pl_graph *g, columns *c)
{
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role != PL_INPUT) continue;
        if (!strcmp(v->name, "dense") && v->shape.rank == 2) c->dense_wanted = (int)v->shape.dim[1];
        const int first = column_of(v->name);
        if (first < 0) continue;
        c->tables[first] = count_tables(g, v);
        const int n = width_of(c, first);
        for (int k = first; k < first + n && k < MOST_COLUMNS; k++) c->input[k] = first;
        const int last = v->shape.rank - 1;
        if (last > (c->tables[first] > 0) && v->shape.dim[last] > c->hots)
            c->hots = v->shape.dim[last];
        if (first + n > c->ids_wanted) c->ids_wanted = first + n;
    }
}

static bool check_columns(const reader *r, const columns *c, pl_err *err)
{
    if (c->n_dense && c->n_dense != c->dense_wanted)
        return pl_err_set(err, PL_EINPUT,
                          "%s has %d columns of numbers, the model %d: write dense=%d", r->path,
                          c->n_dense, c->dense_wanted, c->n_dense);
    if (c->hots)
        return pl_err_set(err, PL_EINPUT,
                          "%s: a log has one id of each table, the model takes %lld: write hots=1",
                          r->path, (long long)c->hots);
    return c->n_ids == c->ids_wanted ||
           pl_err_set(
               err, PL_EINPUT,
               "%s has %d columns of ids, the model %d tables: give it as many, by tables=%d "
               "or in sizes=",
               r->path, c->n_ids, c->ids_wanted, c->n_ids);
}

static bool find_columns(reader *r, const pl_graph *g, columns *c, pl_err *err)
{
    *c = (columns){ 0 };
    count_inputs(g, c);
    if (!next_line(r, err))
        return err->code ? false : pl_err_set(err, PL_EINPUT, "%s is empty", r->path);
    r->separator = strchr(r->text, '\t') ? '\t' : ',';
    PL_TRY(cut_line(r, err));
    c->n = r->n;
    if (strcmp(r->field[0], "0") != 0 && strcmp(r->field[0], "1") != 0)
        PL_TRY(name_columns(r, c, err));
    else
        count_columns(r, c);
    return check_columns(r, c, err);
}

/* -- reading ----------------------------------------------------------------------------------- */

/* What is read, in one piece of memory. */
typedef struct log_data {
    int64_t n; /* lines */
    void *map;
    size_t bytes;
    int32_t *label;
    float *dense;               /* [n, dense_wanted] */
    int32_t *id[MOST_COLUMNS];  /* by column: of line i at id[i * step]           */
    int step[MOST_COLUMNS];     /* columns of its input, which stand side by side */
    int64_t rows[MOST_COLUMNS]; /* of their tables   */
} log_data;

static bool read_number(const reader *r, int column, float *out, pl_err *err)
{
    const char *text = r->field[column];
    char *end;
    const double x = strtod(text, &end);
    if (*end || !isfinite(x))
        return pl_err_set(err, PL_EINPUT, "%s: line %lld, column %d: '%.40s' is no number", r->path,
                          (long long)r->line, column + 1, text);
    *out = (float)log1p(fmax(x, 0));
    return true;
}

static int32_t read_id(const char *text, int64_t rows)
{
    const size_t n = strlen(text);
    const bool hex = n <= 15 && strspn(text, "0123456789abcdefABCDEF") == n;
    const uint64_t id = !n ? 0 : hex ? strtoull(text, NULL, 16) : XXH3_64bits(text, n);
    return (int32_t)(id % (uint64_t)rows);
}

static bool read_line(reader *r, const columns *c, log_data *d, int64_t i, pl_err *err)
{
    if (r->n != c->n)
        return pl_err_set(err, PL_EINPUT, "%s: line %lld has %d columns, line 1 has %d", r->path,
                          (long long)r->line, r->n, c->n);
    const char *label = r->field[c->label];
    if ((*label != '0' && *label != '1') || label[1])
        return pl_err_set(err, PL_EINPUT,
                          "%s: line %lld, column %d: the label is '%.40s', and has to be 0 or 1",
                          r->path, (long long)r->line, c->label + 1, label);
    d->label[i] = *label - '0';
    for (int k = 0; k < c->n_dense; k++)
        PL_TRY(read_number(r, c->dense[k], &d->dense[i * c->dense_wanted + k], err));
    for (int k = 0; k < c->n_ids; k++)
        d->id[k][i * d->step[k]] = read_id(r->field[c->id[k]], d->rows[k]);
    return true;
}

static bool count_lines(reader *r, int64_t *n, pl_err *err)
{
    *n = 0;
    while (next_line(r, err)) *n += *r->text != 0;
    return !err->code;
}

/* Room for n lines, of zeros. */
static bool take_memory(const reader *r, const columns *c, log_data *d, pl_err *err)
{
    const int64_t each = 1 + c->dense_wanted + c->n_ids;
    d->bytes = (size_t)(d->n * each) * sizeof(int32_t);
    d->map = mmap(NULL, d->bytes ? d->bytes : 1, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (d->map == MAP_FAILED)
        return pl_err_set(err, PL_ERUN, "%s: no memory for %lld lines of %lld columns", r->path,
                          (long long)d->n, (long long)each);
    d->label = d->map;
    d->dense = (float *)(d->label + d->n);
    int32_t *ids = (int32_t *)(d->dense + d->n * c->dense_wanted);
    for (int k = 0; k < c->n_ids; k++) {
        const int first = c->input[k];
        d->id[k] = ids + first * d->n + (k - first);
        d->step[k] = width_of(c, first);
    }
    return true;
}

static bool read_lines(reader *r, const columns *c, log_data *d, pl_err *err)
{
    int64_t i = 0;
    gzrewind(r->file);
    r->line = 0;
    if (c->header) (void)next_line(r, err);
    while (i < d->n && next_line(r, err)) {
        if (!*r->text) continue; /* an empty line */
        PL_TRY(cut_line(r, err) && read_line(r, c, d, i++, err));
    }
    if (!err->code && i < d->n)
        return pl_err_set(err, PL_EINPUT, "%s: changed while it was read", r->path);
    return !err->code;
}

/* -- tensors ----------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right)
{
    const pl_tensor *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static void add_tensor(pl_tensors *t, const char *name, pl_type type, pl_shape shape,
                       const void *data)
{
    pl_tensor *x = &t->tensor[t->n++];
    *x = pl_tensor_of(type, &shape, data);
    x->name = name;
}

static pl_tensors list_tensors(const columns *c, const log_data *d, const char *path, pl_arena *a)
{
    pl_tensors t = { .path = path, .map = d->map, .map_bytes = d->bytes };
    t.tensor = PL_NEW_N(a, pl_tensor, c->n_ids + 2);
    add_tensor(&t, "label", PL_I32, PL_SHAPE(d->n), d->label);
    add_tensor(&t, "dense", PL_F32, PL_SHAPE(d->n, c->dense_wanted), d->dense);
    for (int k = 0; k < c->n_ids; k += d->step[k])
        add_tensor(&t, pl_arena_fmt(a, "cat_%d", k), PL_I32,
                   c->tables[k] ? PL_SHAPE(d->n, c->tables[k]) : PL_SHAPE(d->n), d->id[k]);
    qsort(t.tensor, (size_t)t.n, sizeof *t.tensor, by_name);
    t.dtype = PL_NEW_N(a, const char *, t.n);
    for (int i = 0; i < t.n; i++) t.dtype[i] = t.tensor[i].type == PL_F32 ? "F32" : "I32";
    return t;
}

static bool read_log(reader *r, const pl_graph *g, pl_arena *arena, pl_tensors *out, pl_err *err)
{
    columns *c = PL_NEW(arena, columns);
    log_data *d = PL_NEW(arena, log_data);
    PL_TRY(find_columns(r, g, c, err) && count_lines(r, &d->n, err));
    d->n += !c->header; /* the first line has been read */
    PL_TRY(take_memory(r, c, d, err));
    const pl_limits limits = pl_ids_limits(g, INT32_MAX, false, arena);
    for (int k = 0; k < c->n_ids; k++)
        d->rows[k] = pl_ids_limit(&limits, pl_arena_fmt(arena, "cat_%d", c->input[k]));
    *out = list_tensors(c, d, pl_arena_text(arena, r->path), arena);
    if (read_lines(r, c, d, err)) return true;
    pl_tensors_free(out);
    return false;
}

bool pl_data_clicks_open(const char *path, double share, bool in_order, int n,
                         const pl_graph *const graph[], pl_arena *arena, pl_data *out, pl_err *err)
{
    reader *r = PL_NEW(arena, reader);
    pl_tensors t = { 0 };
    PL_TRY(open_log(r, path, arena, err));
    const bool ok = read_log(r, graph[0], arena, &t, err);
    close_log(r);
    return ok && pl_data_rows_take(&t, share, in_order, n, graph, arena, out, err);
}
