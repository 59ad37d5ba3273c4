/* Does it fit? pl_fit_check(): each rank tells the others which memory it lies in and what it
 * takes (find_neighbours), and all compare. */
#include "run/fit.h"

/* What the devices that share this one's memory take. */
typedef struct neighbours {
    int n;
    int64_t all, largest; /* bytes */
} neighbours;

static const char *const advice =
    "take the batch in micro-batches (--micro N), keep less (--evict pleat, or with --strategy "
    "recompute=full, offload=all), split the model (zero=3, tp=N), or take a smaller batch or "
    "model";

static int64_t sum_of(const pl_fit *need)
{
    return need->state + need->work + need->scratch;
}

/* All ranks tell each other where they are and what they take. */
static bool find_neighbours(uint64_t pool, pl_comm *comm, const pl_fit *need, pl_arena *tmp,
                            neighbours *out, pl_err *err)
{
    int64_t mine[2] = { (int64_t)pool, sum_of(need) + need->host };
    *out = (neighbours){ 1, mine[1], mine[1] };
    if (!comm) return true;
    int64_t *all = PL_NEW_N(tmp, int64_t, 2 * comm->size);
    pl_comm_count books = comm->count; /* no message of the program */
    const pl_message m = { .kind = PL_ALL_GATHER,
                           .type = PL_I64,
                           .count = 2,
                           .send = mine,
                           .recv = all,
                           .label = "bytes of each device" };
    PL_TRY(pl_comm_run(comm, comm->world, &m, err));
    comm->count = books;
    *out = (neighbours){ 0 };
    for (int r = 0; r < comm->size; r++) {
        if (all[2 * r] != mine[0]) continue;
        out->n++;
        out->all += all[2 * r + 1];
        if (all[2 * r + 1] > out->largest) out->largest = all[2 * r + 1];
    }
    return true;
}

/* Of what plans count: what kernels need besides is known only when they are made. */
static bool check_limit(const pl_fit *need, int64_t limit, pl_arena *tmp, pl_err *err)
{
    const int64_t planned = need->state + need->work;
    if (!limit || planned <= limit) return true;
    return pl_err_set(
        err, PL_EINFEASIBLE, "one device needs %s (states %s, work %s), its limit is %s: %s",
        pl_text_size(tmp, (double)planned), pl_text_size(tmp, (double)need->state),
        pl_text_size(tmp, (double)need->work), pl_text_size(tmp, (double)limit), advice);
}

static bool check_pool(const neighbours *x, const pl_fit *need, int64_t bytes, pl_arena *tmp,
                       pl_err *err)
{
    const char *has = pl_text_size(tmp, (double)bytes);
    if (x->all <= bytes) return true;
    if (x->n == 1)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "one device needs %s (states %s, work %s), this machine has %s: %s",
                          pl_text_size(tmp, (double)x->all), pl_text_size(tmp, (double)need->state),
                          pl_text_size(tmp, (double)need->work), has, advice);
    return pl_err_set(err, PL_EINFEASIBLE,
                      "%d devices need %s each, %s together; this machine has %s: %s, or more "
                      "machines",
                      x->n, pl_text_size(tmp, (double)x->largest),
                      pl_text_size(tmp, (double)x->all), has, advice);
}

bool pl_fit_check(const pl_device *device, pl_comm *comm, const pl_fit *need, int64_t limit,
                  pl_err *err)
{
    neighbours x;
    uint64_t pool;
    pl_err lost = { 0 };
    pl_arena *tmp = pl_arena_new("memory check");
    int64_t bytes = device->memory(&pool);
    bool told = find_neighbours(pool, comm, need, tmp, &x, &lost);
    if (!told && !err->code) *err = lost;
    bool ok =
        !err->code && check_limit(need, limit, tmp, err) && check_pool(&x, need, bytes, tmp, err);
    pl_arena_free(tmp);
    return ok;
}
