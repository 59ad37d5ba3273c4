/* Rotary positions of a config.json: rope_scaling of transformers 4, beside rope_theta; and
 * rope_parameters of transformers 5, which has the base too, and for models whose layers differ an
 * object of each kind. What a member does depends on rope_type; a member that is known to no type
 * is refused.
 * Source: modeling_rope_utils.py of transformers 5.23: defaults, and where the length of the
 * training stands (the field of the whole file comes first). */
#include "models/config_reader.h"

#include <math.h>
#include <string.h>

/* Members of all types; those that a type does not read change nothing, as in transformers. */
static const char members[] =
    "rope_type type rope_theta partial_rotary_factor factor original_max_position_embeddings "
    "attention_factor beta_fast beta_slow short_factor long_factor low_freq_factor "
    "high_freq_factor mscale mscale_all_dim truncate finetuned";

typedef struct rope {
    pl_config_reader *r;
    const char *field; /* of the file, for messages; NULL: `of` is all of it */
    const pl_json *of;
} rope;

static const char *say(const rope *p, const char *member)
{
    return p->field ? pl_arena_fmt(p->r->arena, "%s.%s", p->field, member) : member;
}

/* A member that is a number above 0; `usual` where there is none. 0: it has to be there, or is not
 * a number, which is said. */
static double read_real(const rope *p, const char *member, double usual)
{
    const pl_json *v = pl_config_reader_find(p->of, member);
    double x = v ? v->real : usual;
    if (x > 0 && isfinite(x)) return x;
    if (v)
        pl_config_reader_wrong(p->r, say(p, member), pl_config_reader_spell(p->r, v),
                               "is not a number above 0");
    else
        PL_PUSH(p->r->arena, &p->r->wrong,
                pl_arena_fmt(p->r->arena, "%s is missing", say(p, member)));
    return 0;
}

static void set_real(const rope *p, const char *member, const char *key, double x)
{
    if (x > 0)
        pl_config_reader_set(p->r, say(p, member), key, pl_arena_fmt(p->r->arena, "%.17g", x));
}

/* A member of zero counts as none, as Python's `or` has it. */
static double read_or(const rope *p, const char *member, double usual)
{
    const pl_json *v = pl_config_reader_find(p->of, member);
    return pl_json_is_number(v) && !(v->real > 0 || v->real < 0) ? usual
                                                                 : read_real(p, member, usual);
}

/* Positions that the file is made for. */
static double positions_of(const pl_config_reader *reader)
{
    const pl_config_field *f = reader->type->field;
    while (f->name && f->kind != PL_CONFIG_POSITIONS) f++;
    const pl_json *v = f->name ? pl_config_reader_find(reader->root, f->name) : NULL;
    double x = pl_json_real(v);
    if (!v && f->name && f->usual && !pl_text_real(f->usual, &x)) return 0;
    return x;
}

/* Those of the training. */
static double original_of(const rope *p)
{
    const char *name = "original_max_position_embeddings";
    const rope whole = { p->r, NULL, p->r->root };
    double usual = positions_of(p->r);
    if (pl_config_reader_find(p->r->root, name)) return read_real(&whole, name, usual);
    return read_real(p, name, usual);
}

static void set_original(const rope *p, double original)
{
    if (original >= 1 && original <= INT32_MAX)
        pl_config_reader_set(p->r, say(p, "original_max_position_embeddings"), "rope_original",
                             pl_arena_fmt(p->r->arena, "%.0f", original));
}

/* Peng et al., YaRN, 2023, equation 22. */
static double yarn_scale(double factor, double by)
{
    return factor > 1 ? 0.1 * by * log(factor) + 1 : 1;
}

/* Attention over latents multiplies the scores by another factor. */
static void read_latent(const rope *p)
{
    const char *member = "mscale_all_dim", *key = "rope_mscale";
    const pl_json *v = pl_config_reader_find(p->of, member);
    for (const pl_model_key *k = p->r->model->keys; k->name; k++)
        if (!strcmp(k->name, key) && pl_json_real(v) > 0)
            set_real(p, member, key, read_real(p, member, 1));
}

static void read_yarn(const rope *p)
{
    const pl_json *truncate = pl_config_reader_find(p->of, "truncate");
    double original = original_of(p), factor = positions_of(p->r) / (original > 0 ? original : 1);
    bool scaled = pl_json_real(pl_json_find(p->of, "mscale")) > 0 &&
                  pl_json_real(pl_json_find(p->of, "mscale_all_dim")) > 0;
    if (pl_config_reader_find(p->of, "factor")) factor = read_real(p, "factor", 0);
    double scale = scaled ? yarn_scale(factor, read_real(p, "mscale", 1)) /
                                yarn_scale(factor, read_real(p, "mscale_all_dim", 1))
                          : yarn_scale(factor, 1);
    set_real(p, "factor", "rope_factor", factor);
    set_real(p, "beta_slow", "rope_low", read_or(p, "beta_slow", 1));
    set_real(p, "beta_fast", "rope_high", read_or(p, "beta_fast", 32));
    set_real(p, "attention_factor", "rope_scale", read_real(p, "attention_factor", scale));
    set_original(p, original);
    read_latent(p);
    if (pl_json_is(truncate, PL_JSON_FALSE))
        pl_config_reader_set(p->r, say(p, "truncate"), "rope_truncate", "0");
}

static void read_llama3(const rope *p)
{
    double low = read_real(p, "low_freq_factor", 0), high = read_real(p, "high_freq_factor", 0);
    set_real(p, "factor", "rope_factor", read_real(p, "factor", 0));
    set_real(p, "low_freq_factor", "rope_low", low);
    set_real(p, "high_freq_factor", "rope_high", high);
    set_original(p, original_of(p));
    if (low > 0 && high > 0 && !(low < high))
        pl_config_reader_wrong(p->r, say(p, "low_freq_factor"),
                               pl_arena_fmt(p->r->arena, "%g", low),
                               "is not below high_freq_factor");
}

/* "1.0/1.5" of a list of numbers above 0. */
static void read_list(const rope *p, const char *member, const char *key)
{
    const pl_json *v = pl_config_reader_find(p->of, member);
    pl_text text = { .arena = p->r->arena };
    bool ok = pl_json_items(v) > 0;
    for (int i = 0; i < pl_json_items(v); i++) {
        double x = v->at[i].real;
        ok &= x > 0 && isfinite(x);
        pl_text_add(&text, "%s%.17g", i ? "/" : "", x);
    }
    if (ok)
        pl_config_reader_set(p->r, say(p, member), key, pl_text_get(&text));
    else
        pl_config_reader_wrong(p->r, say(p, member), v ? pl_config_reader_spell(p->r, v) : "null",
                               "is not a list of numbers above 0");
}

static void read_longrope(const rope *p)
{
    double original = original_of(p), factor = positions_of(p->r) / (original > 0 ? original : 1);
    if (pl_config_reader_find(p->of, "factor")) factor = read_real(p, "factor", 0);
    double scale = factor > 1 && original > 1 ? sqrt(1 + log(factor) / log(original)) : 1;
    read_list(p, "short_factor", "rope_short");
    read_list(p, "long_factor", "rope_long");
    set_real(p, "attention_factor", "rope_scale", read_real(p, "attention_factor", scale));
    set_original(p, original);
}

static void read_type(const rope *p, const char *type)
{
    pl_config_reader *r = p->r;
    if (!strcmp(type, "su") || (!strcmp(type, "yarn") && !strcmp(r->type->type, "phi3")))
        type = "longrope"; /* what Phi-3 called it first */
    if (pl_config_reader_given(r, "rope") || !strcmp(type, "default")) return;
    if (!strcmp(type, "linear") || !strcmp(type, "dynamic"))
        set_real(p, "factor", "rope_factor", read_real(p, "factor", 0));
    else if (!strcmp(type, "yarn"))
        read_yarn(p);
    else if (!strcmp(type, "llama3"))
        read_llama3(p);
    else if (!strcmp(type, "longrope"))
        read_longrope(p);
    else
        pl_config_reader_refuse(r, say(p, "rope_type"), type,
                                "is not supported (only default, linear, dynamic, yarn, llama3, "
                                "longrope; or give rope=default for plain rotary positions)");
    if (!strcmp(type, "dynamic")) set_original(p, positions_of(r));
    pl_config_reader_set(r, say(p, "rope_type"), "rope", type);
}

/* Do the layers of this type turn parts of heads? */
static bool has_parts(const pl_config_reader *r)
{
    const pl_config_field *f = r->type->field;
    while (f->name && strcmp(f->name, "partial_rotary_factor")) f++;
    return f->name != NULL;
}

/* Of a head's width, rounded down as Python's int() does. */
static void read_share(const rope *p, const pl_json *value)
{
    pl_config_reader *r = p->r;
    int64_t head = pl_config_reader_int(r, "head"), heads = pl_config_reader_int(r, "heads");
    double share = value->real;
    if (!head && heads) head = pl_config_reader_int(r, "hidden") / heads;
    if (!has_parts(r) && (share > 1 || share < 1))
        pl_config_reader_refuse(r, say(p, "partial_rotary_factor"),
                                pl_config_reader_spell(r, value),
                                "is not supported: the layers of this type turn whole heads");
    else if (!(share > 0) || share > 1)
        pl_config_reader_wrong(r, say(p, "partial_rotary_factor"), pl_config_reader_spell(r, value),
                               "is not above 0 and at most 1");
    else if (share < 1 && head)
        pl_config_reader_set(r, say(p, "partial_rotary_factor"), "rotary",
                             pl_arena_fmt(r->arena, "%.0f", floor((double)head * share)));
}

static void read_members(const rope *p, const pl_config_field *field)
{
    pl_config_reader *r = p->r;
    const pl_json *type = pl_config_reader_find(p->of, "rope_type"),
                  *base = pl_config_reader_find(p->of, "rope_theta"),
                  *share = pl_config_reader_find(p->of, "partial_rotary_factor");
    for (int i = 0; i < p->of->n; i++) {
        const pl_json *v = &p->of->at[i];
        if (v->kind != PL_JSON_NULL && !pl_config_reader_listed(r->arena, members, v->key, NULL))
            pl_config_reader_refuse(r, say(p, v->key), pl_config_reader_spell(r, v),
                                    "is not known");
    }
    if (!type) type = pl_config_reader_find(p->of, "type");
    const char *value =
        base ? pl_config_reader_number(r, say(p, "rope_theta"), field->key, true, base) : NULL;
    if (value) pl_config_reader_set(r, say(p, "rope_theta"), field->key, value);
    if (share) read_share(p, share);
    read_type(p, type ? pl_config_reader_spell(r, type) : "default");
}

/* Layers within the window have plain positions, of a base of their own. */
static void read_local(const rope *p)
{
    pl_config_reader *r = p->r;
    const pl_json *type = pl_config_reader_find(p->of, "rope_type"),
                  *base = pl_config_reader_find(p->of, "rope_theta");
    if (type && strcmp(pl_config_reader_spell(r, type), "default"))
        pl_config_reader_refuse(r, say(p, "rope_type"), pl_config_reader_spell(r, type),
                                "is not supported (only default)");
    const char *value =
        base ? pl_config_reader_number(r, say(p, "rope_theta"), "local_base", true, base) : NULL;
    if (value) pl_config_reader_set(r, say(p, "rope_theta"), "local_base", value);
}

void pl_config_reader_rope(pl_config_reader *reader, const pl_config_field *field,
                           const pl_json *value)
{
    const pl_json *whole = pl_config_reader_find(value, "full_attention"),
                  *local = pl_config_reader_find(value, "sliding_attention");
    const rope p = { reader, field->name, value }, w = { reader, say(&p, "full_attention"), whole },
               l = { reader, say(&p, "sliding_attention"), local };
    if (!strcmp(field->name, "partial_rotary_factor")) { /* a field of its own */
        read_share(&(rope){ reader, NULL, value }, value);
    } else if (value->kind != PL_JSON_OBJECT || (whole && whole->kind != PL_JSON_OBJECT) ||
               (local && local->kind != PL_JSON_OBJECT)) {
        pl_config_reader_wrong(reader, field->name, pl_config_reader_spell(reader, value),
                               "is not an object");
    } else if (whole || local) {
        if (whole) read_members(&w, field);
        if (local) read_local(&l);
    } else {
        read_members(&p, field);
    }
}
