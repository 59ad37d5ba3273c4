/* Words to axes. Read pl_strategy_parse(): words are looked up in the lists of layouts, each says
 * its axes, and share_out() gives what is left over to dp. */
#include "layouts/strategy.h"

#include "base/file.h"
#include "layouts/list.h"
#include "plan/file.h"
#include "plan/stages.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- words ------------------------------------------------------------------------------------- */

static bool say_auto(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)word, (void)size, (void)err;
    return s->automatic = true;
}

static bool say_wide(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)word, (void)size, (void)err;
    return s->wide_sums = true;
}

static bool say_micro(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)word, (void)err;
    s->micro = size[0];
    return true;
}

static bool say_masters(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)word, (void)size, (void)err;
    return s->masters = true;
}

/* Those of no layout. plan=FILE comes last: its size is a path, so that it is read by itself. */
static const pl_word others[] = {
    { "reduce=f32", "reduce=f32", 0, "reduce",
      "with dtype=bf16: gradients are summed over devices in f32, which is twice the bytes",
      say_wide },
    { "micro=", "micro=N", 1, "micro",
      "the batch of a step is taken in N micro-batches, one after another; gradients add up",
      say_micro },
    { "masters", "masters", 0, "masters",
      "with dtype=bf16: weights are kept in bf16, beside f32 masters of them that updates change",
      say_masters },
    { "auto", "auto", 0, "auto",
      "alone, with micro=N, pp=N: the fastest layout (of stages) that fits, found by a search",
      say_auto },
    { "plan=", "plan=FILE", PL_WORD_PATH, "plan", "alone: the one that pleat plan -o FILE wrote",
      NULL },
    { 0 },
};

/* The words after `word`, of all layouts and at last those of none. NULL at first, and at the end.
 * */
static const pl_word *next_word(const pl_word *word, int *layout)
{
    if (!word) *layout = 0;
    const pl_word *next = word ? word + 1 : pl_layouts[0]->words;
    if (next->name) return next;
    if (!pl_layouts[*layout]) return NULL;
    ++*layout;
    return pl_layouts[*layout] ? pl_layouts[*layout]->words : others;
}

void pl_strategy_words(pl_text *out)
{
    int layout;
    for (const pl_word *w = NULL; (w = next_word(w, &layout));)
        pl_text_add(out, "  %-14s  %s\n", w->form, w->about);
}

/* Sizes joined by x, each at least 1. */
static bool read_sizes(const char *at, int n, int size[])
{
    for (int i = 0; i < n; i++) {
        char *end;
        long x = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 0;
        if (x < 1 || x > 1 << 20 || *end != (i + 1 < n ? 'x' : 0)) return false;
        size[i] = (int)x;
        at = end + 1;
    }
    return true;
}

/* What other systems have words for and no layout here does: it begins with one of these. */
static const char *const later[][2] = {
    { "pipeline", "the words are pp=N, vpp=N and schedule=NAME" },
    { "context", "the word is cp=N" },
    { "ulysses", "the word is cp=ulysses:N" },
    { "ring", "the word is cp=gather:N" },
    { "checkpoint", "the word is recompute=full, recompute=selective or recompute=N" },
    { "offload", "the words are offload=optimizer, =weights, =activations and =all" },
    { "embrace", "sparse gradients of tables are not there yet" },
};

/* Is the word one of them, alone or with "=..."? */
static bool refuse_later(const char *word, pl_err *err)
{
    const size_t n = strcspn(word, "=:");
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (strlen(later[i][0]) == n && !strncmp(word, later[i][0], n)) {
            pl_err_set(err, PL_EUNSUPPORTED, "strategy: '%s': %s", word, later[i][1]);
            return true;
        }
    return false;
}

static bool unknown_word(const char *word, pl_arena *a, pl_err *err)
{
    if (refuse_later(word, err)) return false;
    pl_text forms = { .arena = a };
    pl_near near = { .word = word, .within = 2 };
    int layout;
    for (const pl_word *w = NULL; (w = next_word(w, &layout));) {
        pl_near_offer(&near, w->form);
        pl_text_add(&forms, forms.n ? ", %s" : "%s", w->form);
    }
    const char *hint = near.name ? pl_arena_fmt(a, "did you mean '%s'? ", near.name) : "";
    return pl_err_set(err, PL_EUSAGE, "strategy: '%s' is not one of its words (%sthey are: %s)",
                      word, hint, pl_text_get(&forms));
}

static bool find_word(const char *text, pl_arena *a, pl_said *out, pl_err *err)
{
    int layout;
    for (const pl_word *w = NULL; (w = next_word(w, &layout));) {
        const size_t n = strlen(w->name);
        *out = (pl_said){ .layout = pl_layouts[layout], .word = w, .size = { 1, 1, 1 } };
        if (w->n_sizes == PL_WORD_PATH) continue;
        if (w->n_sizes == PL_WORD_NAME && !strncmp(text, w->name, n) && text[n]) {
            out->name = text + n;
            return true;
        }
        if (w->n_sizes == PL_WORD_NAME) continue;
        if (w->n_sizes ? !strncmp(text, w->name, n) && read_sizes(text + n, w->n_sizes, out->size)
                       : !strcmp(text, w->name))
            return true;
    }
    return unknown_word(text, a, err);
}

static bool say(pl_strategy *s, const char *text, pl_arena *a, pl_err *err)
{
    pl_said said;
    PL_TRY(find_word(text, a, &said, err));
    if (pl_strategy_said(s, said.word->kind))
        return pl_err_set(err, PL_EUSAGE, "strategy '%s': '%s' after another %s", s->text, text,
                          said.word->kind);
    PL_ASSERT_CMP(s->n_said, <, PL_MAX_SAID); /* there are fewer kinds */
    s->said[s->n_said++] = said;
    return !said.word->say || said.word->say(s, said.word, said.size, err);
}

static bool read_words(pl_strategy *s, pl_arena *a, pl_err *err)
{
    for (const char *at = s->text;; at++) {
        at += strspn(at, " ");
        size_t n = strcspn(at, ","), last = n;
        while (last && at[last - 1] == ' ') last--;
        PL_TRY(say(s, pl_arena_span(a, at, last), a, err));
        at += n;
        if (!*at) return true;
    }
}

const pl_said *pl_strategy_said(const pl_strategy *s, const char *kind)
{
    for (int i = 0; i < s->n_said; i++)
        if (!strcmp(s->said[i].word->kind, kind)) return &s->said[i];
    return NULL;
}

/* -- axes -------------------------------------------------------------------------------------- */

static int rank_of(const pl_layout *layout)
{
    int i = 0;
    while (pl_layouts[i] != layout) i++;
    return i;
}

bool pl_strategy_axis(pl_strategy *s, const pl_layout *layout, const char *word, const char *axis,
                      int size, unsigned use)
{
    int at = s->n_degrees++;
    PL_ASSERT_CMP(at, <, PL_MAX_SAID);
    for (; at && rank_of(s->degree[at - 1].layout) > rank_of(layout); at--)
        s->degree[at] = s->degree[at - 1];
    s->degree[at] = (pl_degree){ layout, word, axis, size, use };
    return true;
}

/* Which of the degrees has an axis, or -1. */
static int find_axis(const pl_strategy *s, const char *axis)
{
    for (int i = 0; i < s->n_degrees; i++)
        if (!strcmp(s->degree[i].axis, axis)) return i;
    return -1;
}

int pl_strategy_size(const pl_strategy *s, const char *axis)
{
    const int i = find_axis(s, axis);
    return i < 0 ? 1 : s->degree[i].size;
}

unsigned pl_strategy_axes(const pl_strategy *s, unsigned use)
{
    unsigned axes = 0;
    for (int i = 0; i < s->n_degrees; i++)
        if (s->degree[i].use & use) axes |= 1u << i;
    return axes;
}

bool pl_strategy_add_use(pl_strategy *s, const char *axis, unsigned use)
{
    const int i = find_axis(s, axis);
    if (i >= 0) s->degree[i].use |= use;
    return i >= 0;
}

/* Those of one device are none. */
static void drop_singles(pl_strategy *s)
{
    int n = 0;
    for (int i = 0; i < s->n_degrees; i++)
        if (s->degree[i].size > 1) s->degree[n++] = s->degree[i];
    s->n_degrees = n;
}

/* The devices that they take: "tp=2 x ep=4". */
static int64_t count_devices(const pl_strategy *s, pl_text *product)
{
    int64_t all = 1;
    for (int i = 0; i < s->n_degrees; i++) {
        pl_text_add(product, "%s%s=%d", i ? " x " : "", s->degree[i].word, s->degree[i].size);
        if (all < INT32_MAX) all *= s->degree[i].size;
    }
    if (!product->n) pl_text_add(product, "1");
    return all;
}

/* What is left over goes to dp. */
static bool share_out(pl_strategy *s, pl_arena *a, pl_err *err)
{
    pl_text text = { .arena = a };
    const int n = s->devices;
    const pl_said *dp = pl_strategy_said(s, "dp");
    const bool given = dp && dp->word->n_sizes;
    drop_singles(s);
    const int64_t all = count_devices(s, &text);
    const char *product = pl_text_get(&text);
    if (all > n || (given && all != n))
        return pl_err_set(err, PL_EUSAGE, "strategy '%s' takes %s = %lld devices, and there %s %d",
                          s->text, product, (long long)all, n == 1 ? "is" : "are", n);
    if (n % all)
        return pl_err_set(err, PL_EUSAGE, "strategy '%s': %d devices cannot be divided by %s%s",
                          s->text, n, product,
                          strchr(product, ' ') ? pl_arena_fmt(a, " = %lld", (long long)all) : "");
    const int left = n / (int)all;
    if (!s->n_degrees || (!given && left > 1)) pl_layout_data_axis(s, left);
    return s->n_degrees <= PL_MAX_AXES ||
           pl_err_set(err, PL_EUSAGE,
                      "strategy '%s' on %d devices has %d axes (dp=%d among them), and a mesh has "
                      "at most %d: leave a word out",
                      s->text, n, s->n_degrees, pl_strategy_size(s, "data"), PL_MAX_AXES);
}

static pl_mesh make_mesh(const pl_strategy *s)
{
    pl_mesh m = { .n = s->n_degrees };
    for (int i = 0; i < m.n; i++) {
        m.axis[i].size = s->degree[i].size;
        snprintf(m.axis[i].name, sizeof m.axis->name, "%s", s->degree[i].axis);
    }
    return m;
}

/* -- parse ------------------------------------------------------------------------------------- */

static bool settle(pl_strategy *s, pl_err *err)
{
    for (int i = 0; i < s->n_said; i++) {
        const pl_layout *l = s->said[i].layout;
        if (l && l->settle && !l->settle(s, err)) return false;
    }
    return true;
}

/* Beside the words of a pipeline, whose stages the search plans alike, auto has no other layout. */
static bool check_auto(pl_strategy *s, pl_err *err)
{
    for (int i = 0; i < s->n_said; i++) {
        const pl_layout *l = s->said[i].layout;
        if (l && l != &pl_layout_pipeline)
            return pl_err_set(
                err, PL_EUSAGE,
                "strategy '%s': auto stands alone, with micro=N, or with the words of "
                "a pipeline, and '%s' is none of them",
                s->text, s->said[i].word->form);
    }
    drop_singles(s);
    const int stages = pl_strategy_size(s, PL_STAGE_AXIS);
    if (s->devices % stages)
        return pl_err_set(err, PL_EUSAGE, "strategy '%s': %d devices cannot be divided by pp=%d",
                          s->text, s->devices, stages);
    return settle(s, err);
}

bool pl_strategy_parse(const char *text, int n_devices, pl_arena *arena, pl_strategy *out,
                       pl_err *err)
{
    static const char plan[] = "plan=";
    *out = (pl_strategy){ .text = pl_arena_text(arena, text), .devices = n_devices };
    out->mesh = (pl_mesh){ .n = 1, .axis = { { .name = "devices", .size = n_devices } } };
    if (!strncmp(text, plan, sizeof plan - 1)) out->plan_path = out->text + sizeof plan - 1;
    if (n_devices < (out->plan_path ? 0 : 1))
        return pl_err_set(err, PL_EUSAGE, "strategy '%s': for %d devices", text, n_devices);
    if (out->plan_path)
        return *out->plan_path || pl_err_set(err, PL_EUSAGE, "strategy 'plan=' names no file");
    PL_TRY(read_words(out, arena, err));
    if (out->masters && out->wide_sums)
        return pl_err_set(err, PL_EUSAGE,
                          "strategy '%s': beside masters gradients stay in 16 bits until they are "
                          "added up: leave out masters or reduce=f32",
                          text);
    if (out->automatic) return check_auto(out, err);
    if (!share_out(out, arena, err) || !settle(out, err)) return false;
    out->mesh = make_mesh(out);
    return true;
}

bool pl_strategy_read(pl_strategy *s, pl_arena *arena, pl_err *err)
{
    const char *text;
    size_t n;
    if (!s->plan_path || s->file) return true;
    pl_plan_file *f = PL_NEW(arena, pl_plan_file);
    PL_TRY(pl_file_read(s->plan_path, PL_PLAN_FILE_BYTES, arena, &text, &n, err));
    if (!pl_plan_file_read(text, n, arena, f, err)) return pl_err_in(err, "%s", s->plan_path);
    s->file = f;
    s->cluster = f->cluster;
    s->mesh = f->mesh;
    s->micro = f->micro;
    s->masters = f->masters;
    if (!s->devices) s->devices = pl_mesh_ranks(&f->mesh);
    return pl_mesh_ranks(&f->mesh) == s->devices ||
           pl_err_set(err, PL_EINPUT,
                      "%s is a plan for %d devices, and here are %d: give --devices %d",
                      s->plan_path, pl_mesh_ranks(&f->mesh), s->devices, pl_mesh_ranks(&f->mesh));
}

/* -- all --------------------------------------------------------------------------------------- */

struct pl_texts {
    pl_arena *arena;
    int devices, n, most;
    const char **text;
};

void pl_texts_add(pl_texts *t, const char *text)
{
    pl_strategy s;
    pl_err why = { 0 };
    bool is_new = true;
    for (int i = 0; i < t->n; i++) is_new &= strcmp(t->text[i], text) != 0;
    if (is_new && t->n < t->most && pl_strategy_parse(text, t->devices, t->arena, &s, &why))
        t->text[t->n++] = text;
}

void pl_texts_fmt(pl_texts *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = pl_arena_vfmt(t->arena, fmt, args);
    va_end(args);
    pl_texts_add(t, text);
}

int pl_strategy_all(int n_devices, unsigned has, pl_arena *arena, int most, const char *text[])
{
    pl_texts t = { arena, n_devices, 0, most, text };
    for (int i = 0; pl_layouts[i]; i++)
        if (pl_layouts[i]->list && !(pl_layouts[i]->needs & ~has))
            pl_layouts[i]->list(&t, n_devices);
    return t.n;
}
