#include "schedules/bound.h"

#include <math.h>

/* One rank's figures. */
typedef struct stage {
    double f, i, w, held, rest;
} stage;

static stage stage_of(const pl_pipeline_request *r, int q)
{
    const pl_pass_costs *c = r->costs;
    const double held = c->held ? c->held[q] : 1;
    return (stage){ pl_pass_seconds(c, &(pl_pass){ PL_PASS_F, q, 0 }),
                    pl_pass_seconds(c, &(pl_pass){ PL_PASS_I, q, 0 }),
                    pl_pass_seconds(c, &(pl_pass){ PL_PASS_W, q, 0 }), held,
                    c->rest ? c->rest[q] : held };
}

/* How many of so many bytes fit, at most n. */
static int fit(double room, double bytes, int n)
{
    const double most = bytes > 0 ? floor(room / bytes * (1 + 1e-9)) : n;
    return most < n ? (int)fmax(most, 0) : n;
}

/* Seconds of the I and W that memory can hold in so many bytes, of at most n micro-batches: some
 * that have had their F alone, and some that have had their I. */
static double find_work(const stage *s, double room, int n)
{
    double most = 0;
    const int all = fit(room, s->held, n);
    for (int whole = 0; whole <= all; whole++) {
        const int half = fit(room - whole * s->held, s->rest, n - whole);
        most = fmax(most, whole * (s->i + s->w) + half * s->w);
    }
    return most;
}

/* What a rank waits for, whose round trip takes so long. */
static double find_waiting(const pl_pipeline_request *r, const stage *s, double round)
{
    const double limit = r->memory > 0 ? r->memory : INFINITY;
    const int ahead = limit < INFINITY ? fit(limit, s->held, r->micro) : r->micro;
    const double room = limit < INFINITY ? limit - s->held : INFINITY;
    const double first = fmax(0, round - ahead * s->f);
    const double last = fmax(0, round - s->f - find_work(s, room, r->micro - 1));
    return ahead < r->micro ? first + last : fmax(first, last); /* else both may be one */
}

/* The longest way from rank q to a later one, through all its passes, and back. */
static double find_path(const pl_pipeline_request *r, int q, double *round)
{
    const stage first = stage_of(r, q);
    double there = 0, back = 0, most = 0;
    for (int i = q; i < r->ranks; i++) {
        const stage s = stage_of(r, i);
        if (i > q) back += s.i + r->costs->send;
        /* back has I of rank i, which is the last one of its n */
        most = fmax(most, there + r->micro * (s.f + s.i) + (i > q ? back - s.i + first.i : 0));
        there += s.f + (i + 1 < r->ranks ? r->costs->send : 0);
    }
    *round = there + back;
    return most + first.w;
}

double pl_pipeline_bound(const pl_pipeline_request *r, bool apart)
{
    double bound = 0, way = 0;
    if (r->chunks > 1) return 0;
    for (int q = 0; q < r->ranks; q++) {
        const stage s = stage_of(r, q);
        double round;
        const double path = find_path(r, q, &round), work = r->micro * (s.f + s.i + s.w);
        const double own = fmax(path, work + find_waiting(r, &s, round));
        bound = fmax(bound, own + (apart ? 0 : way));
        way += s.f + r->costs->send;
    }
    return bound;
}
