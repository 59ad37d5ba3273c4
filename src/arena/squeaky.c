/* Squeaky wheel optimization. Read search(): several orders are placed in turn (place_once), and
 * after each the buffers that stuck out come earlier (learn). */
#include "arena/squeaky.h"

#include "arena/keys.h"

#include <stdlib.h>
#include <string.h>

/* Several orders learn in turn: which of them gets there is luck. After TURN placings each the
 * better half goes on for twice as many, down to FINAL of them. Lowest gaps do as well as the
 * tightest here, and are found in half of the time. */
enum { TURN = 8, FINAL = 2 };

/* After a turn of all, what is still so many times as high as it should be is of another kind: a
 * problem made to be hard, for the exact search. */
static const double HOPELESS = 1.08;

/* Those that solved most training steps soonest come first. */
static const struct {
    pl_key key;
    double factor; /* of the position                                                       */
    bool peak;     /* those live at the fullest step come first: a stack without holes there */
} starts[] = {
    { PL_KEY_SIZE, 0.5, true },      { PL_KEY_AREA, 0.3, true },  { PL_KEY_END, 0.5, true },
    { PL_KEY_DURATION, 0.3, true },  { PL_KEY_SIZE, 0.5, false }, { PL_KEY_START, 0.5, false },
    { PL_KEY_DURATION, 0.3, false }, { PL_KEY_AREA, 0.5, false }, { PL_KEY_SIZE, 0.3, false },
    { PL_KEY_AREA, 0.3, false },
};
enum { N_STARTS = sizeof starts / sizeof *starts };

typedef struct rank {
    double at;
    int item;
} rank;

typedef struct learner {
    int start;
    double factor;
    int64_t best;  /* height found; -1: none yet             */
    bool is_stuck; /* nothing that sticks out can come earlier */
    int *order;    /* [n]                                    */
    double *at;    /* [n] by item: its position, and below   */
} learner;

typedef struct squeaky {
    const pl_boxes *boxes;
    pl_arena *arena;
    rank *rank;           /* [n] */
    int64_t *now;         /* [n] */
    int64_t enough, left; /* rounds           */
    int64_t best;         /* -1: none yet     */
    int64_t *offset;      /* [n] of the best  */
} squeaky;

static int by_at(const void *left, const void *right)
{
    const rank *a = left, *b = right;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

/* Otherwise the order stays. */
static void put_peak_first(const squeaky *b, int order[])
{
    int n = 0, n_rest = 0, *rest = PL_NEW_N(b->arena, int, b->boxes->n);
    for (int i = 0; i < b->boxes->n; i++) {
        const pl_boxed *x = &b->boxes->item[order[i]];
        if (x->birth <= b->boxes->step && b->boxes->step < x->death)
            order[n++] = order[i];
        else
            rest[n_rest++] = order[i];
    }
    if (n_rest) memcpy(order + n, rest, (size_t)n_rest * sizeof *rest);
}

static learner make_learner(const squeaky *b, int start)
{
    const int n = b->boxes->n;
    learner l = { start, starts[start].factor,       -1,
                  false, PL_NEW_N(b->arena, int, n), PL_NEW_N(b->arena, double, n) };
    pl_keys_sort(b->boxes, starts[start].key, l.order);
    if (starts[start].peak) put_peak_first(b, l.order);
    for (int i = 0; i < n; i++) l.at[l.order[i]] = i + 1;
    return l;
}

static void learn(const squeaky *b, learner *l)
{
    const int n = b->boxes->n;
    for (int i = 0; i < n; i++) {
        if (b->now[i] + b->boxes->item[i].bytes > b->enough) l->at[i] *= l->factor;
        b->rank[i] = (rank){ l->at[i], i };
    }
    qsort(b->rank, (size_t)n, sizeof *b->rank, by_at);
    l->is_stuck = true;
    for (int i = 0; i < n; i++) {
        l->is_stuck &= l->order[i] == b->rank[i].item;
        l->order[i] = b->rank[i].item;
    }
}

/* False: there is nothing more to gain. */
static bool place_once(squeaky *b, learner *l)
{
    int64_t height = pl_keys_place_order(b->boxes, l->order, true, b->now);
    if (height < 0) return false;
    b->left--;
    if (l->best < 0 || height < l->best) l->best = height;
    if (b->best < 0 || height < b->best) {
        b->best = height;
        if (b->boxes->n) memcpy(b->offset, b->now, (size_t)b->boxes->n * sizeof *b->now);
    }
    if (height <= b->enough) return false;
    learn(b, l);
    return true;
}

/* The lowest first; a good one that is stuck has nothing more to learn. */
static int by_promise(const void *left, const void *right)
{
    const learner *a = left, *b = right;
    if (a->is_stuck != b->is_stuck) return a->is_stuck - b->is_stuck;
    if (a->best != b->best) return a->best < b->best ? -1 : 1; /* all have been placed */
    return a->start - b->start;
}

static void search(squeaky *b)
{
    learner l[N_STARTS] = { 0 };
    for (int n = N_STARTS, turn = TURN; b->left > 0 && !l[0].is_stuck; turn *= 2) {
        for (int i = 0; i < n && b->left > 0; i++) {
            if (!l[i].order) l[i] = make_learner(b, i);
            for (int k = 0; k < turn && b->left > 0 && !l[i].is_stuck; k++)
                if (!place_once(b, &l[i])) return;
        }
        if (b->left <= 0 || (double)b->best > HOPELESS * (double)b->enough) return;
        qsort(l, (size_t)n, sizeof *l, by_promise);
        n = n / 2 > FINAL ? n / 2 : FINAL;
    }
}

int64_t pl_squeaky_place(const pl_boxes *boxes, int64_t enough, int64_t rounds, int64_t offset[])
{
    pl_arena *tmp = pl_arena_new("squeaky wheel");
    squeaky b = { boxes,
                  tmp,
                  PL_NEW_N(tmp, rank, boxes->n),
                  PL_NEW_N(tmp, int64_t, boxes->n),
                  enough,
                  rounds,
                  -1,
                  offset };
    search(&b);
    pl_arena_free(tmp);
    return b.best;
}
