#include "schedules/csv.h"

#include "schedules/play.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* -- writing ----------------------------------------------------------------------------------- */

/* Each pass takes a turn; a B does so too where no backward pass is in two. */
static pl_pass_costs count_turns(const pl_pipeline *s, pl_arena *tmp)
{
    bool two = false;
    for (int r = 0; r < s->n_ranks; r++)
        for (int i = 0; i < s->row[r].n; i++) two |= s->row[r].at[i].kind == PL_PASS_I;
    double *half = PL_NEW_N(tmp, double, s->n_stages);
    for (int i = 0; i < s->n_stages; i++) half[i] = two ? 1 : 0.5;
    return (pl_pass_costs){ .input = half, .weight = half };
}

void pl_pipeline_csv_write(const pl_pipeline *s, pl_text *out)
{
    pl_arena *tmp = pl_arena_new("schedule file");
    const pl_pass_costs turns = count_turns(s, tmp);
    pl_pipeline_times t;
    pl_pipeline_play(s, &turns, tmp, &t);
    for (int r = 0; r < s->n_ranks; r++) {
        int turn = 0;
        for (int i = 0; i < s->row[r].n; i++) {
            const int at = (int)lround(t.begin[r][i]);
            while (turn < at) turn++, pl_text_add(out, ",");
            pl_text_add(out, "%s", pl_pass_text(&s->row[r].at[i], tmp));
        }
        while (turn < (int)lround(t.seconds) - 1) turn++, pl_text_add(out, ",");
        pl_text_add(out, "\n");
    }
    pl_arena_free(tmp);
}

/* -- reading ----------------------------------------------------------------------------------- */

enum { MOST_NUMBER = 1 << 20 };

/* PyTorch's other actions. */
static const char *const others[] = { "UNSHARD",         "RESHARD",     "SEND_F",
                                      "RECV_F",          "SEND_B",      "RECV_B",
                                      "WAIT_SEND_F",     "WAIT_SEND_B", "REDUCE_GRAD",
                                      "WAIT_REDUCE_GRAD" };

typedef struct reading {
    const char *name;
    pl_pipeline *s;
    struct {
        int n, cap;
        pl_pass_row *at;
    } rows;
    pl_arena *out;
} reading;

/* A number of at most MOST_NUMBER at *at, which it moves; -1: there is none. */
static int read_number(const char **at, const char *end)
{
    int x = 0;
    const char *from = *at;
    for (; *at < end && isdigit((unsigned char)**at) && x <= MOST_NUMBER; ++*at)
        x = 10 * x + (**at - '0');
    return *at == from || x > MOST_NUMBER ? -1 : x;
}

static bool is_other(const char *at, size_t n)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == n && !strncmp(others[i], at, n)) return true;
    return false;
}

/* "2F0". True too for what is no pass; then *kind is -1. */
static bool read_pass(const char *at, const char *end, int *kind, int *stage, int *micro)
{
    static const char letters[] = PL_PASS_LETTERS;
    *stage = read_number(&at, end);
    if (*stage < 0) return false;
    const char *word = at;
    while (at < end && !isdigit((unsigned char)*at)) at++;
    const size_t n = (size_t)(at - word);
    const char *is = n == 1 ? strchr(letters, *word) : NULL;
    *kind = is && *word ? (int)(is - letters) : -1;
    *micro = at < end ? read_number(&at, end) : -1;
    if (*kind >= 0) return *micro >= 0 && at == end;
    return at == end && is_other(word, n);
}

static bool refuse(const reading *x, int rank, int cell, const char *at, size_t n, pl_err *err)
{
    return pl_err_set(err, PL_EINPUT,
                      "%s: line %d (rank %d), cell %d: '%.*s' is no action of a schedule: 2F0, "
                      "2B0, 2I0, 2W0",
                      x->name, rank + 1, rank, cell, n > 40 ? 40 : (int)n, at);
}

static bool add_pass(reading *x, int rank, int cell, const char *at, const char *end, pl_err *err)
{
    int kind, stage, micro;
    if (!read_pass(at, end, &kind, &stage, &micro))
        return refuse(x, rank, cell, at, (size_t)(end - at), err);
    if (kind < 0) return true;
    pl_pass_row *row = &x->rows.at[rank];
    PL_PUSH(x->out, row, ((pl_pass){ (uint8_t)kind, stage, micro }));
    if (stage >= x->s->n_stages) x->s->n_stages = stage + 1;
    if (micro >= x->s->n_micro) x->s->n_micro = micro + 1;
    return true;
}

static const char *trim(const char *at, const char **end)
{
    while (at < *end && strchr(" \t\r\"", *at)) at++;
    while (*end > at && strchr(" \t\r\"", (*end)[-1])) --*end;
    return at;
}

/* One pass, or two that overlap. */
static bool read_cell(reading *x, int rank, int cell, const char *at, const char *end, pl_err *err)
{
    static const char tail[] = ")OVERLAP_F_B";
    const size_t n = sizeof tail - 1;
    at = trim(at, &end);
    if (at == end) return true;
    if (*at != '(') return add_pass(x, rank, cell, at, end, err);
    const char *mid = memchr(at, ';', (size_t)(end - at));
    if (!mid || (size_t)(end - mid) <= n || strncmp(end - n, tail, n) != 0)
        return refuse(x, rank, cell, at, (size_t)(end - at), err);
    return add_pass(x, rank, cell, at + 1, mid, err) &&
           add_pass(x, rank, cell, mid + 1, end - n, err);
}

static bool read_line(reading *x, const char *at, const char *end, pl_err *err)
{
    const int rank = x->rows.n;
    if (rank == PL_PIPELINE_RANKS)
        return pl_err_set(err, PL_EINPUT, "%s: more than %d ranks", x->name, PL_PIPELINE_RANKS);
    PL_PUSH(x->out, &x->rows, ((pl_pass_row){ 0 }));
    for (int cell = 0; at <= end; cell++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        if (!comma) comma = end;
        PL_TRY(read_cell(x, rank, cell, at, comma, err));
        at = comma + 1;
    }
    return true;
}

/* Each stage is on the rank in whose line it is first. */
static bool place_stages(reading *x, pl_err *err)
{
    pl_pipeline *s = x->s;
    if ((int64_t)s->n_stages * s->n_micro > PL_PIPELINE_PASSES / 3)
        return pl_err_set(err, PL_EINPUT, "%s: %d stages and %d micro-batches: too many to check",
                          x->name, s->n_stages, s->n_micro);
    int *rank_of = PL_NEW_N(x->out, int, s->n_stages + 1);
    for (int i = 0; i < s->n_stages; i++) rank_of[i] = -1;
    for (int r = 0; r < x->rows.n; r++)
        for (int i = 0; i < x->rows.at[r].n; i++) {
            int *of = &rank_of[x->rows.at[r].at[i].stage];
            if (*of < 0) *of = r;
        }
    for (int i = 0; i < s->n_stages; i++)
        if (rank_of[i] < 0)
            return pl_err_set(err, PL_EINPUT, "%s: stage %d of %d is on no rank", x->name, i,
                              s->n_stages);
    s->rank_of = rank_of;
    s->n_ranks = x->rows.n;
    s->row = x->rows.at;
    return true;
}

bool pl_pipeline_csv_read(const char *text, size_t n, const char *name, pl_arena *out,
                          pl_pipeline *s, pl_err *err)
{
    *s = (pl_pipeline){ .name = name, .apart = !strcmp(name, PL_PIPELINE_APART) };
    reading x = { .name = name, .s = s, .out = out };
    while (n && strchr(" \t\r\n", text[n - 1])) n--;
    for (const char *at = text, *end = text + n; at < end;) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (!line) line = end;
        PL_TRY(read_line(&x, at, line, err));
        at = line + 1;
    }
    PL_TRY(place_stages(&x, err));
    return pl_pipeline_check(s, err) || pl_err_in(err, "%s", name);
}
