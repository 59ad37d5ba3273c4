/* The table of generators, and the one entry. */
#include "schedules/make.h"

#include <stdio.h>
#include <string.h>

const pl_pipeline_generator pl_pipeline_generators[] = {
    { .name = "gpipe",
      .about = "all forward passes, then all backward ones",
      .chunks = 1,
      .make = pl_pipeline_gpipe },
    { .name = "1f1b",
      .about = "a backward pass as soon as there is one, then a forward one",
      .chunks = 1,
      .make = pl_pipeline_1f1b },
    { .name = "interleaved",
      .about = "the same, several stages a rank: less waiting, more messages",
      .chunks = 2,
      .any_chunks = true,
      .make = pl_pipeline_interleaved },
    { .name = "zb-h1",
      .about = "1f1b with W apart, which fills what is waited for; memory as 1f1b",
      .chunks = 1,
      .make = pl_pipeline_zb_h1 },
    { .name = "zb-h2",
      .about = "the same with twice the memory: no waiting but at the start and end",
      .chunks = 1,
      .make = pl_pipeline_zb_h2 },
    { .name = "zbv",
      .about = "two stages a rank, there and back: that without more memory",
      .chunks = 2,
      .is_v = true,
      .make = pl_pipeline_zbv },
    { .name = "dualpipev",
      .about = "stages as zbv; F of one beside B of the other, which hides messages",
      .chunks = 2,
      .is_v = true,
      .make = pl_pipeline_dualpipev },
    { .name = "search",
      .about = "the fastest that is found for given times within a memory",
      .chunks = 1,
      .make = pl_pipeline_search },
    { 0 },
};

const char *pl_pass_text(const pl_pass *p, pl_arena *arena)
{
    return pl_arena_fmt(arena, "%d%c%d", p->stage, PL_PASS_LETTERS[p->kind], p->micro);
}

void pl_pipeline_add(pl_pipeline *s, int rank, int kind, int stage, int micro, pl_arena *out)
{
    pl_pass_row *row = (pl_pass_row *)&s->row[rank];
    PL_PUSH(out, row, ((pl_pass){ (uint8_t)kind, stage, micro }));
}

static const pl_pipeline_generator *find(const char *name, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("schedules");
    pl_text names = { .arena = tmp };
    const pl_pipeline_generator *found = NULL;
    for (const pl_pipeline_generator *g = pl_pipeline_generators; g->name; g++) {
        pl_text_add(&names, "%s%s", names.n ? ", " : "", g->name);
        if (!strcmp(g->name, name)) found = g;
    }
    if (!found)
        pl_err_set(err, PL_EUSAGE, "there is no schedule '%s'; there are: %s", name,
                   pl_text_get(&names));
    pl_arena_free(tmp);
    return found;
}

int pl_pipeline_chunks(const char *name)
{
    pl_err why = { 0 };
    const pl_pipeline_generator *g = find(name, &why);
    return g ? g->chunks : 1;
}

static bool check_numbers(const pl_pipeline_generator *g, const pl_pipeline_request *r, pl_err *err)
{
    const int chunks = r->chunks ? r->chunks : g->chunks;
    if (r->ranks < 1 || r->ranks > PL_PIPELINE_RANKS || r->micro < 1 || chunks < 1)
        return pl_err_set(err, PL_EUSAGE,
                          "a pipeline of %d ranks with %d stages each, and %d micro-batches: at "
                          "least 1 of each, and at most %d ranks",
                          r->ranks, chunks, r->micro, PL_PIPELINE_RANKS);
    if (chunks != g->chunks && !g->any_chunks)
        return pl_err_set(err, PL_EUSAGE, "a rank has %d stage%s in schedule %s, not %d", g->chunks,
                          g->chunks == 1 ? "" : "s", g->name, chunks);
    if ((int64_t)r->ranks * chunks * r->micro > PL_PIPELINE_PASSES / 3)
        return pl_err_set(err, PL_EUSAGE, "%d stages and %d micro-batches are more than %d passes",
                          r->ranks * chunks, r->micro, PL_PIPELINE_PASSES);
    return true;
}

bool pl_pipeline_make(const char *name, const pl_pipeline_request *r, pl_arena *out, pl_pipeline *s,
                      pl_err *err)
{
    static const pl_pass_costs units = { .send = 0 };
    const pl_pipeline_generator *g = find(name, err);
    PL_TRY(g && check_numbers(g, r, err));
    pl_pipeline_request q = *r;
    q.chunks = r->chunks ? r->chunks : g->chunks;
    q.costs = r->costs ? r->costs : &units;
    int *rank_of = PL_NEW_N(out, int, q.ranks *q.chunks);
    for (int i = 0; i < q.ranks * q.chunks; i++)
        rank_of[i] = g->is_v && i >= q.ranks ? 2 * q.ranks - 1 - i : i % q.ranks;
    *s = (pl_pipeline){ .name = g->name,
                        .n_ranks = q.ranks,
                        .n_stages = q.ranks * q.chunks,
                        .n_micro = q.micro,
                        .rank_of = rank_of,
                        .row = PL_NEW_N(out, pl_pass_row, q.ranks) };
    return g->make(&q, out, s, err) && pl_pipeline_check(s, err);
}
