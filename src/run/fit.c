/* Does it fit? pl_fit_check(): each rank tells the others which memory it lies in and what it
 * takes (find_neighbours), and all compare. */
#include "run/fit.h"

/* What the devices that share this one's memory take, and the heaviest of all. */
typedef struct neighbours {
    int n;
    int64_t all, largest; /* bytes */
    pl_fit most;
} neighbours;

/* What a rank tells the others. */
enum { POOL, STATE, WORK, SCRATCH, HOST, N_TOLD };

static const char *const advice =
    "take the batch in micro-batches (--micro N), keep less (--evict pleat, or with --strategy "
    "recompute=full, offload=all), split the model (zero=3, tp=N), or take a smaller batch or "
    "model";

static int64_t sum_of(const pl_fit *need)
{
    return need->state + need->work + need->scratch + need->host;
}

static void add_told(neighbours *x, const int64_t told[], int64_t pool)
{
    const pl_fit y = { told[STATE], told[WORK], told[SCRATCH], told[HOST] };
    if (y.state + y.work > x->most.state + x->most.work) x->most = y;
    if (told[POOL] != pool) return;
    x->n++;
    x->all += sum_of(&y);
    if (sum_of(&y) > x->largest) x->largest = sum_of(&y);
}

/* All ranks tell each other where they are and what they take. */
static bool find_neighbours(uint64_t pool, pl_comm *comm, const pl_fit *need, pl_arena *tmp,
                            neighbours *out, pl_err *err)
{
    int64_t mine[N_TOLD] = { (int64_t)pool, need->state, need->work, need->scratch, need->host };
    *out = (neighbours){ .most = *need };
    if (!comm) {
        add_told(out, mine, mine[POOL]);
        return true;
    }
    int64_t *all = PL_NEW_N(tmp, int64_t, N_TOLD * comm->size);
    pl_comm_count books = comm->count; /* no message of the program */
    const pl_message m = { .kind = PL_ALL_GATHER,
                           .type = PL_I64,
                           .count = N_TOLD,
                           .send = mine,
                           .recv = all,
                           .label = "bytes of each device" };
    PL_TRY(pl_comm_run(comm, comm->world, &m, err));
    comm->count = books;
    *out = (neighbours){ 0 };
    for (int r = 0; r < comm->size; r++) add_told(out, &all[N_TOLD * r], mine[POOL]);
    return true;
}

/* Of what plans count: what kernels need besides is known only when they are made. */
static bool check_limit(const pl_fit *most, int64_t limit, pl_arena *tmp, pl_err *err)
{
    const int64_t planned = most->state + most->work;
    if (!limit || planned <= limit) return true;
    return pl_err_set(
        err, PL_EINFEASIBLE, "one device needs %s (states %s, work %s), its limit is %s: %s",
        pl_text_size(tmp, (double)planned), pl_text_size(tmp, (double)most->state),
        pl_text_size(tmp, (double)most->work), pl_text_size(tmp, (double)limit), advice);
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
                  pl_fit *most, pl_err *err)
{
    neighbours x;
    uint64_t pool;
    pl_err lost = { 0 };
    pl_arena *tmp = pl_arena_new("memory check");
    int64_t bytes = device->memory(&pool);
    bool told = find_neighbours(pool, comm, need, tmp, &x, &lost);
    if (!told && !err->code) *err = lost;
    *most = x.most;
    bool ok = !err->code && check_limit(&x.most, limit, tmp, err) &&
              check_pool(&x, need, bytes, tmp, err);
    pl_arena_free(tmp);
    return ok;
}
