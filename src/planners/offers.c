/* Published layouts as candidates. Read pl_offers_add(): the usual ones, then more sizes of what is
 * near the fastest (try_sizes) and of groups within groups (climb); find_outline() is what they say
 * of a number of micro-batches. */
#include "planners/offers.h"

#include "layouts/linear.h"
#include "layouts/storage.h"

#include <math.h>
#include <string.h>

/* Of the fastest: other sizes of a layout are worth a look, and those beyond one that takes no more
 * than this. */
static const double NEAR = 1.02, HOPEFUL = 1.5;

/* The same of groups within groups; their sizes are climbed as long as each step leaves no more of
 * the seconds; and of the best so far, inner groups that are not worth a look with others. */
static const double NEAR_TWO = 1.2, STEEP = 0.998, FAR_SIZE = 1.2;

/* Of the fastest: slow for another number of micro-batches; no use with copies on top. */
static const double WIDE = 2, SLOWER = 1.03;

static const double WORTH = 0.02; /* of the step: making again takes more than a little */
static const double FAR = 1.12;   /* of the outline to beat: not worth a search; find_outline() */
static const double FAR_ALONE = 1.05; /* the same where layouts are all there is */

/* Of groups, and of groups within these. */
typedef struct sizes {
    int n, k;
} sizes;

/* One to try: its text, and the offer of a layout that it is. */
typedef struct attempt {
    const char *text;
    const pl_offer *of;
    sizes size;
    bool usual, known;
    pl_halfway halfway;
    int made; /* of x->b->at, once it is taken; -1: it came to nothing */
} attempt;

struct pl_offers {
    int n, tried, taken;
    attempt at[PL_MOST_OFFERS];
    trial of[PL_MOST_OFFERS];
};

static bool has_size(const pl_offer *o)
{
    return strchr(o->text, 'N') != NULL;
}

static bool has_two(const pl_offer *o)
{
    return strchr(o->text, 'K') != NULL;
}

/* As of pl_offer. */
static const char *offer_text(const choosing *x, const pl_offer *o, sizes size)
{
    pl_text t = { .arena = x->out };
    for (const char *c = o->text; *c; c++)
        if (*c == 'N')
            pl_text_add(&t, "%d", size.n);
        else if (*c == 'K')
            pl_text_add(&t, "%d", size.k);
        else if (*c == 'M')
            pl_text_add(&t, "%d", x->c->n_devices / size.n);
        else
            pl_text_add(&t, "%c", *c);
    return pl_text_get(&t);
}

static sizes of_one(int size)
{
    return (sizes){ size, size };
}

/* Groups are as large as the fast links reach. */
static sizes usual_size(const pl_cluster *c)
{
    const int inner = c->level[0].size, n = c->n_devices;
    return of_one(inner > 1 && inner < n ? inner : n / 2 > 1 ? n / 2 : n);
}

static void note_refused(pl_found *b, const char *name, const pl_err *why, pl_arena *out)
{
    b->refused[b->n_refused++] = (pl_refused){ name, pl_arena_text(out, why->msg) };
}

/* Two groups at least, and a row for each device that does not share its own with others of the
 * inner group. */
static bool are_sizes(const choosing *x, sizes s)
{
    const int64_t n = x->c->n_devices;
    return s.n > 0 && s.k > 0 && 2ll * s.n * s.k <= n && n <= s.k * pl_storage_count_rows(x->g);
}

/* The best for another number of micro-batches, or the usual ones, but for larger inner groups
 * where there are few rows. */
static sizes usual_two(const choosing *x)
{
    sizes s = usual_size(x->c);
    if (x->r->like && x->r->like->groups) s = (sizes){ x->r->like->groups, x->r->like->within };
    while (s.k < x->c->n_devices && x->c->n_devices > s.k * pl_storage_count_rows(x->g)) s.k *= 2;
    return s;
}

/* A layout that has no messages on several devices does the same on all of them, and is rarely
 * taken: it gets no long search for an order. */
static bool make_layout(choosing *x, const trial *t, pl_err *err)
{
    x->brief = true;
    x->halfway = t->halfway;
    return pl_candidates_add_layout(x, t->layout, err);
}

void pl_offers_try(const choosing *x, const pl_candidate *beat, pl_offers *l, const char *what)
{
    const int from = l->tried;
    for (; l->tried < l->n; l->tried++)
        l->of[l->tried] = (trial){ .make = make_layout,
                                   .layout = l->at[l->tried].text,
                                   .halfway = &l->at[l->tried].halfway };
    pl_candidates_try(x, beat, l->n - from, l->of + from, what);
}

void pl_offers_take(choosing *x, pl_offers *l)
{
    for (; l->taken < l->tried; l->taken++) {
        attempt *at = &l->at[l->taken];
        trial *t = &l->of[l->taken];
        at->made = -1;
        if (!t->made.n) {
            if (at->known) note_refused(x->b, at->text, &t->why, x->out);
            pl_arena_free(t->x.out);
            continue;
        }
        at->made = x->b->n++;
        pl_candidates_take(x, t, &x->b->at[at->made]);
        x->b->at[at->made].known = at->known;
    }
}

/* The offer of the fastest usual one that fits of those within a limit; NULL: none does. */
static const pl_offer *find_near(const choosing *x, const pl_offers *l, double limit)
{
    const pl_offer *near = NULL;
    for (int i = 0; i < l->n; i++) {
        const pl_candidate *k = l->at[i].made < 0 ? NULL : &x->b->at[l->at[i].made];
        if (!l->at[i].usual || has_two(l->at[i].of) || !k || !k->fits ||
            k->forecast.step_seconds > limit)
            continue;
        limit = k->forecast.step_seconds;
        near = l->at[i].of;
    }
    return near;
}

/* As people would ask for it; NULL: it is none on so many devices. */
static const char *ask_for(const choosing *x, const char *text)
{
    pl_strategy s;
    pl_err why = { 0 };
    if (!pl_strategy_parse(text, x->c->n_devices, x->out, &s, &why)) return NULL;
    return x->masters && !s.masters ? pl_arena_fmt(x->out, "masters,%s", text) : text;
}

/* One more, unless it is there, or none on so many devices. */
static void add_attempt(const choosing *x, pl_offers *l, const pl_offer *o, sizes size, bool known)
{
    if (has_two(o) && !are_sizes(x, size)) return;
    const char *text = ask_for(x, offer_text(x, o, size));
    if (!text) return;
    for (int i = 0; i < l->n; i++)
        if (!strcmp(l->at[i].text, text)) {
            l->at[i].known |= known;
            return;
        }
    PL_ASSERT_CMP(l->n, <, PL_MOST_OFFERS);
    l->at[l->n++] = (attempt){ .text = text, .of = o, .size = size, .known = known, .made = -1 };
}

/* What is offered for later is tried with the usual ones as far as few blocks tell; the rest of it
 * when there is something to beat. */
static void list_soon(const choosing *x, pl_offers *l)
{
    const sizes usual = usual_size(x->c);
    for (int i = 0; pl_layouts[i]; i++)
        for (const pl_offer *o = pl_layouts[i]->offers; o && o->text; o++) {
            const int before = l->n;
            if (o->when & PL_OFFER_LATER && x->c->n_devices > usual.n)
                add_attempt(x, l, o, usual, false);
            if (l->n > before) l->at[before].halfway.only = true;
        }
}

static void list_left(pl_offers *l)
{
    for (int i = 0, n = l->n; i < n; i++) {
        attempt again = l->at[i];
        if (!again.halfway.left) continue;
        l->at[i].halfway.left = again.halfway.left = again.halfway.only = false;
        PL_ASSERT_CMP(l->n, <, PL_MOST_OFFERS);
        l->at[l->n++] = again;
    }
}

/* Are most of its weights tables that are looked up in? */
static bool is_of_tables(const pl_graph *g)
{
    pl_arena *tmp = pl_arena_new("tables");
    bool *is = PL_NEW_N(tmp, bool, g->values.n + 1);
    int64_t all = 0, tables = 0;
    pl_linear l;
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        if (pl_linear_find(n, &l) && l.lookup) is[pl_graph_state(n->in[l.w])->id] = true;
    }
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role != PL_STATE || v->kind != PL_WEIGHT) continue;
        all += pl_shape_count(&v->shape);
        if (is[i]) tables += pl_shape_count(&v->shape);
    }
    pl_arena_free(tmp);
    return 2 * tables > all;
}

/* Those whose groups have the usual size; of what people look for also groups as wide as a node. */
static void list_usual(const choosing *x, pl_offers *l)
{
    const sizes usual = usual_size(x->c), node = of_one(x->c->level[0].size);
    const bool tables = is_of_tables(x->g);
    for (int i = 0; pl_layouts[i]; i++)
        for (const pl_offer *o = pl_layouts[i]->offers; o && o->text; o++) {
            const bool known = o->when & PL_OFFER_KNOWN;
            if (o->when & (PL_OFFER_LATER | PL_OFFER_TIGHT | PL_OFFER_SHORT)) continue;
            if (o->when & PL_OFFER_TABLES && !tables) continue;
            if (o->when & PL_OFFER_PARTS && !pl_graph_losses(x->g, 0, NULL)) continue;
            const int before = l->n;
            if (has_two(o)) {
                add_attempt(x, l, o, usual_two(x), false);
                continue;
            }
            if (known && has_size(o) && node.n > 1) add_attempt(x, l, o, node, true);
            add_attempt(x, l, o, usual, known && l->n == before);
        }
    for (int i = 0; i < l->n; i++) l->at[i].usual = true;
    list_soon(x, l);
}

pl_offers *pl_offers_usual(const choosing *x)
{
    pl_offers *l = PL_NEW(x->out, pl_offers);
    if (x->c->n_devices > 1 && x->stages == 1 && !x->r->search.method) list_usual(x, l);
    return l;
}

bool pl_offers_wait(const pl_offers *l)
{
    return l->tried < l->n;
}

/* And those that trade time for memory, unless even without that they are far slower than what
 * fits. */
static void list_tight(const choosing *x, pl_offers *l)
{
    for (int i = 0; pl_layouts[i]; i++)
        for (const pl_offer *o = pl_layouts[i]->offers; o && o->text; o++) {
            if (!(o->when & PL_OFFER_TIGHT)) continue;
            const sizes size = has_two(o) ? usual_two(x) : usual_size(x->c);
            const pl_candidate *base =
                pl_recompute_base(x->b, ask_for(x, offer_text(x, o, size)), x->out);
            if (!base || base->forecast.step_seconds < HOPEFUL * pl_candidates_fastest(x->b))
                add_attempt(x, l, o, size, false);
        }
}

/* Does it spend more than a little time on activations made again? Host memory, or more
 * micro-batches, may save that. */
static bool recomputes_much(const pl_candidate *k)
{
    return k->forecast.again_seconds > WORTH * k->forecast.step_seconds;
}

/* Does nothing fit, or only what recomputes much? */
static bool is_short(const choosing *x)
{
    const pl_candidate *k = pl_candidates_best(x->b);
    return x->tight && (!k || recomputes_much(k));
}

/* Does a layout fit without what it puts into the host's memory, or is it clearly slower than what
 * fits? Copies make it no faster. */
static bool is_idle(const choosing *x, const char *text)
{
    const char *host = strstr(text, ",offload=");
    if (!host) return false;
    const char *base = pl_arena_fmt(x->out, "%.*s", (int)(host - text), text);
    const pl_candidate *k = pl_candidates_named(x->b, ask_for(x, base));
    return k && (k->fits || k->forecast.step_seconds > SLOWER * pl_candidates_fastest(x->b));
}

/* What is offered for later. */
static void list_later(const choosing *x, pl_offers *l)
{
    const unsigned now = is_short(x) ? PL_OFFER_SHORT : 0;
    const bool tables = now && is_of_tables(x->g);
    const sizes usual = usual_size(x->c);
    for (int i = 0; pl_layouts[i]; i++)
        for (const pl_offer *o = pl_layouts[i]->offers; o && o->text; o++)
            if (o->when & now && (tables || !(o->when & PL_OFFER_TABLES)) &&
                !is_idle(x, offer_text(x, o, usual)))
                add_attempt(x, l, o, usual, false);
    list_left(l);
}

/* -- sizes ------------------------------------------------------------------------------------- */

/* From the usual size of an offer, to larger or smaller ones. */
typedef struct way {
    const pl_offer *of;
    bool up;
    int size; /* the last one */
} way;

static void list_ways(const choosing *x, const pl_offer *near, way *w, int *n)
{
    const int usual = usual_size(x->c).n;
    for (int i = 0; pl_layouts[i]; i++)
        for (const pl_offer *o = pl_layouts[i]->offers; o && o->text; o++)
            for (int up = 0; up < 2 && has_size(o) && !has_two(o); up++)
                if (o == near || (up && o->when & PL_OFFER_LARGER))
                    w[(*n)++] = (way){ o, up, usual };
}

/* Might the next size be the fastest that fits? Time falls and rises with the size, and memory too,
 * if it falls no more than the size grows. What came to nothing says nothing. */
static bool is_hopeful(const choosing *x, const way *w)
{
    const pl_candidate *k =
        pl_candidates_named(x->b, ask_for(x, offer_text(x, w->of, of_one(w->size))));
    return !k || (k->forecast.step_seconds <= HOPEFUL * pl_candidates_fastest(x->b) &&
                  (double)k->forecast.memory.peak <= 2 * x->b->limit);
}

/* One more attempt on the way; false: it ends here. */
static bool step(const choosing *x, pl_offers *l, way *w)
{
    const int size = w->up ? 2 * w->size : w->size / 2;
    const bool first = w->size == usual_size(x->c).n;
    if (size < 2 || size > x->c->n_devices || (!first && !is_hopeful(x, w))) return false;
    add_attempt(x, l, w->of, of_one(size), false);
    w->size = size;
    return true;
}

static void try_all(choosing *x, pl_offers *l)
{
    pl_offers_try(x, pl_candidates_best(x->b), l, "playing through layout");
    pl_offers_take(x, l);
}

/* More sizes of what is near the fastest, as long as they come near it, too; with them the rest. */
static void try_sizes(choosing *x, const pl_offer *near, pl_offers *l)
{
    way w[PL_MOST_OFFERS];
    int n = 0;
    list_ways(x, near, w, &n);
    do {
        int left = 0;
        for (int i = 0; i < n; i++)
            if (step(x, l, &w[i])) w[left++] = w[i];
        n = left;
        try_all(x, l);
    } while (n && !pl_candidates_late(x));
}

/* -- groups within groups ---------------------------------------------------------------------- */

static bool is_size(sizes a, sizes b)
{
    return a.n == b.n && a.k == b.k;
}

/* What an attempt takes, as far as is known. INFINITY: nothing is, or it came to nothing. */
static pl_sample sample_of(const choosing *x, const pl_offers *l, const pl_offer *o, sizes s)
{
    for (int i = 0; i < l->n; i++) {
        const attempt *a = &l->at[i];
        if (a->of != o || !is_size(a->size, s)) continue;
        const pl_candidate *k = a->made < 0 ? NULL : &x->b->at[a->made];
        if (!k) return pl_candidates_about(x, a->halfway.few);
        return (pl_sample){ 0, k->forecast.step_seconds, (double)k->forecast.memory.peak };
    }
    return (pl_sample){ 0, INFINITY, INFINITY };
}

/* An offer, and that which recomputes all blocks of it; NULL: memory does not bind. */
typedef struct climbing {
    const pl_offer *none, *all;
} climbing;

static bool is_climbed(const climbing *c, const attempt *a)
{
    return a->of == c->none || a->of == c->all;
}

/* Seconds at some sizes, with as many blocks recomputed as it takes to fit; where all of them are
 * too few, as if there were more. */
static double seconds_at(const choosing *x, const pl_offers *l, const climbing *c, sizes s)
{
    const pl_sample none = sample_of(x, l, c->none, s);
    if (none.bytes <= x->b->limit) return none.seconds;
    if (!c->all) return INFINITY;
    const pl_sample all = sample_of(x, l, c->all, s), two[] = { none, all };
    const bool trades = all.seconds > none.seconds && all.bytes < none.bytes;
    return trades ? pl_recompute_outline(x->b->limit, two) : all.seconds;
}

static sizes best_sizes(const choosing *x, const pl_offers *l, const climbing *c, double *least)
{
    sizes best = { 0, 0 };
    *least = INFINITY;
    for (int i = 0; i < l->n; i++) {
        const double at = is_climbed(c, &l->at[i]) ? seconds_at(x, l, c, l->at[i].size) : INFINITY;
        if (at < *least) *least = at, best = l->at[i].size;
    }
    return best;
}

/* Was one with as large inner groups far slower than the best? */
static bool is_far(const choosing *x, const pl_offers *l, const climbing *c, int k, double least)
{
    for (int i = 0; i < l->n; i++)
        if (is_climbed(c, &l->at[i]) && l->at[i].size.k == k &&
            seconds_at(x, l, c, l->at[i].size) > FAR_SIZE * least)
            return true;
    return false;
}

/* Those that recompute nothing first: two of the same sizes at once look for the same paths. */
static void try_some(choosing *x, const climbing *c, int n, const sizes some[], pl_offers *l)
{
    const int from = l->n;
    for (int i = 0; i < n; i++) add_attempt(x, l, c->none, some[i], false);
    for (int i = 0; i < n && c->all; i++) add_attempt(x, l, c->all, some[i], false);
    for (int i = from; i < l->n; i++) l->at[i].halfway.only = true;
    try_all(x, l);
}

/* Either of the sizes twice or half as large, then both, for as many devices in all. */
static void try_near(choosing *x, const climbing *c, sizes s, double least, pl_offers *l)
{
    const sizes along[] = { { 2 * s.n, s.k }, { s.n / 2, s.k } };
    const sizes within[] = { { s.n, 2 * s.k }, { s.n, s.k / 2 } };
    const sizes both[] = { { s.n / 2, 2 * s.k }, { 2 * s.n, s.k / 2 } };
    sizes near[4] = { along[0], along[1] }, more[2];
    int n = 2, n_more = 0;
    for (int i = 0; i < 2; i++)
        if (!is_far(x, l, c, within[i].k, least)) near[n++] = within[i];
    try_some(x, c, n, near, l);
    for (int i = 0; i < 2; i++)
        if (!is_far(x, l, c, both[i].k, least)) more[n_more++] = both[i];
    try_some(x, c, n_more, more, l);
}

/* More sizes: those near the best so far, as long as that gets clearly better. Where few blocks do
 * not tell of it exactly, only the last best is to be made whole. */
static void climb(choosing *x, const climbing *c, pl_offers *l)
{
    sizes s = usual_two(x);
    double least, last = INFINITY;
    try_some(x, c, 1, &s, l);
    s = best_sizes(x, l, c, &least);
    if (!s.n || least > NEAR_TWO * pl_candidates_goal(x)) return;
    while (least < STEEP * last && !pl_candidates_late(x)) {
        last = least;
        try_near(x, c, s, least, l);
        s = best_sizes(x, l, c, &least);
    }
    x->b->groups = s.n, x->b->within = s.k;
    for (int i = 0; i < l->n; i++)
        if (is_climbed(c, &l->at[i]) && !is_size(l->at[i].size, s)) l->at[i].halfway.left = false;
}

/* The offer that is this one with all blocks recomputed; NULL: there is none. */
static const pl_offer *with_recomputing(const pl_offer *none)
{
    const size_t n = strlen(none->text);
    for (int i = 0; pl_layouts[i]; i++)
        for (const pl_offer *o = pl_layouts[i]->offers; o && o->text; o++)
            if (!strncmp(o->text, none->text, n) && !strcmp(o->text + n, "," PL_RECOMPUTE_ALL))
                return o;
    return NULL;
}

static void climb_all(choosing *x, pl_offers *l)
{
    for (int i = 0; pl_layouts[i]; i++)
        for (const pl_offer *o = pl_layouts[i]->offers; o && o->text; o++)
            if (has_two(o) && !(o->when & PL_OFFER_TIGHT))
                climb(x, &(climbing){ o, x->tight ? with_recomputing(o) : NULL }, l);
}

/* -- all of them ------------------------------------------------------------------------------- */

/* Notes the seconds of the fastest of the usual layouts, each with as many of its blocks recomputed
 * as it takes to fit: time and memory are about linear in them. What is found in the end is faster,
 * but for other numbers of micro-batches in about the same ratio: within 10 % on large decoders.
 * Those that do not fit even so count as if they did, `in_any`. */
static void find_outline(const choosing *x, const pl_offers *l, bool in_any)
{
    pl_found *b = x->b;
    b->outline = INFINITY, b->outline_paid = false;
    for (int i = 0; i < l->n; i++) {
        const bool usual =
            l->at[i].usual || l->at[i].of->when & PL_OFFER_TIGHT || has_two(l->at[i].of);
        const pl_candidate *k = usual && l->at[i].made >= 0 ? &x->b->at[l->at[i].made] : NULL;
        const pl_candidate *full = k;
        if (k && !k->fits)
            full = pl_candidates_named(x->b,
                                       pl_arena_fmt(x->out, "%s," PL_RECOMPUTE_ALL, l->at[i].text));
        if (full && !full->fits) full = NULL;
        if (!full && !(k && in_any)) continue;
        const double seconds = full ? pl_recompute_between(x, k, full) : k->forecast.step_seconds;
        if (seconds >= b->outline) continue;
        b->outline = seconds, b->outline_paid = full && full->forecast.again_seconds > 0;
    }
}

/* What an outline is to be near to; 0: there is none that tells. Of a plan that recomputes much,
 * layouts that fit without do not. */
static double outline_to_beat(const pl_found *like)
{
    if (!like || !(like->outline < INFINITY)) return 0;
    return like->outline_paid || !recomputes_much(like->take) ? like->outline : 0;
}

/* Was it, or without recomputing, so slow for another number of micro-batches, or are its states
 * alone too large, which no number changes? */
static bool was_far(const choosing *x, const char *text)
{
    const pl_found *like = x->r->like;
    const pl_candidate *k = pl_candidates_named(like, text);
    if (!k) k = pl_recompute_base(like, text, x->out);
    return k && (k->forecast.step_seconds > WIDE * like->take->forecast.step_seconds ||
                 (double)(k->forecast.memory.weights + k->forecast.memory.optimizer) >
                     pl_candidate_limit(x->b, k));
}

/* Those last, and what is for later; returns how many others there are. */
static int put_far_last(const choosing *x, pl_offers *l)
{
    attempt far[PL_MOST_OFFERS];
    int n = 0, n_far = 0;
    for (int i = 0; i < l->n; i++)
        if (l->at[i].halfway.only || was_far(x, l->at[i].text))
            far[n_far++] = l->at[i];
        else
            l->at[n++] = l->at[i];
    memcpy(l->at + n, far, (size_t)n_far * sizeof *far);
    return n;
}

bool pl_offers_check(choosing *x, pl_offers *l, pl_err *err)
{
    const double beat = outline_to_beat(x->r->like);
    const bool alone = x->r->like && x->r->like->outdone;
    const double enough = (alone ? FAR_ALONE : FAR) * beat;
    const pl_candidate far = { .fits = true, .forecast.step_seconds = enough };
    if (!(beat > 0) || !l->n) return true;
    list_tight(x, l);
    const int all = l->n;
    l->n = put_far_last(x, l);
    pl_offers_try(x, &far, l, "playing through layout");
    pl_offers_take(x, l);
    l->n = all;
    find_outline(x, l, alone);
    x->b->outlined = x->b->outline > enough && x->b->outline < INFINITY;
    return !x->b->outlined ||
           pl_err_set(err, PL_EINFEASIBLE, "its layouts take about %.4g s a step", x->b->outline);
}

/* Is the fastest of all one that does not fit? */
static bool is_cramped(const choosing *x)
{
    return pl_candidates_least(x->b) < pl_candidates_fastest(x->b);
}

/* The fastest of all, whether it fits or not, of groups within groups or of others. */
static double fastest_of(const choosing *x, const pl_offers *l, bool two)
{
    double least = INFINITY;
    for (int i = 0; i < l->n; i++)
        if (l->at[i].made >= 0 && has_two(l->at[i].of) == two)
            least = fmin(least, x->b->at[l->at[i].made].forecast.step_seconds);
    return least;
}

bool pl_offers_have_groups(const pl_offers *l)
{
    bool any = false;
    for (int i = 0; i < l->n; i++) any |= has_two(l->at[i].of);
    return any;
}

bool pl_offers_climb(choosing *x, pl_offers *l, double times)
{
    pl_offers_try(x, NULL, l, "playing through layout");
    pl_offers_take(x, l);
    if (times * fastest_of(x, l, true) > fastest_of(x, l, false)) return false;
    x->tight = is_cramped(x);
    climb_all(x, l);
    return true;
}

/* INFINITY: no search found any that fits. */
static double fastest_searched(const pl_found *b)
{
    double least = INFINITY;
    for (int i = 0; i < b->n; i++)
        if (b->at[i].searched && b->at[i].fits) least = fmin(least, b->at[i].forecast.step_seconds);
    return least;
}

void pl_offers_add(choosing *x, pl_offers *l)
{
    const double limit = NEAR * fastest_searched(x->b);
    if (x->stages > 1 || (!l->n && !(x->tight && x->c->n_devices == 1))) return;
    pl_offers_take(x, l);
    if (pl_candidates_late(x)) return;
    if (x->tight) list_tight(x, l);
    climb_all(x, l);
    if (is_short(x)) try_all(x, l); /* which of them are worth copies on top */
    list_later(x, l);
    try_sizes(x, find_near(x, l, limit), l);
    list_left(l);
    try_all(x, l);
    find_outline(x, l, false);
}

void pl_offers_add_small(choosing *x)
{
    pl_err why = { 0 };
    const bool tables = is_of_tables(x->g);
    for (int i = 0; pl_layouts[i]; i++)
        for (const pl_offer *o = pl_layouts[i]->offers; o && o->text; o++)
            if (o->when & PL_OFFER_SMALL && (tables || !(o->when & PL_OFFER_TABLES)))
                (void)!pl_candidates_add_layout(x, offer_text(x, o, usual_size(x->c)), &why);
}
