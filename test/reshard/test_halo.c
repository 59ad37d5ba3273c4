/* Ways to and from windowed placements: what a device receives is what it lacks, counted from the
 * definition in placement/placement.h, and the moves of cases by hand. */
#include "support/draw.h"
#include "reshard/halo.h"

static pl_placement parse(const pl_mesh *m, const char *text)
{
    pl_placement p;
    pl_err err = { 0 };
    EXPECT(pl_placement_parse(text, m, &p, &err), "%s: %s", text, err.msg);
    return p;
}

static const char *kinds_of(pl_arena *a, const pl_path *path)
{
    pl_text t = { .arena = a };
    for (int i = 0; i < path->n; i++)
        pl_text_add(&t, i ? " %s" : "%s", pl_collective_name(path->move[i].kind));
    return pl_text_get(&t);
}

static void test_ways(void **state)
{
    static const pl_mesh m = { 2, { { "t", 4, 1e-9, 1e-6 }, { "u", 2, 1e-9, 1e-6 } } };
    static const pl_shape s = { 2, { 64, 64 } };
    static const struct {
        const char *from, *to, *kinds;
        int64_t bytes;
    } cases[] = {
        { "[t;]", "[t:64~1,3,1;]", "halo", 2 * 64 * 4 },
        { "[t;]+{u}", "[t:64~1,3,1;]+{u}", "halo", 2 * 64 * 4 },
        { "[t;u]", "[t:64~1,3,1;u]", "halo", 2 * 32 * 4 },
        { "[t;u]", "[t:64~1,3,1;u:64~1,5,2]", "halo halo", (2 * 32 + 18 * 2) * 4 },
        { "[;u]", "[t:64~1,3,1;u:64~1,5,2]", "slice halo", 18 * 2 * 4 },
        { "[t,u;]", "[t:64~1,3,1,u:64~1,3,1;]", "halo", 2 * 64 * 4 },
        { "[;]", "[t:64~1,3,1;]", "slice", 0 },
        { "[t:64~1,3,1;]", "[t;]", "slice", 0 },
        { "[t:64~1,5,2;]", "[t:64~1,3,1;]", "slice", 0 },
        { "[t:64~1,3,1;]", "[;]", "slice all-gather", 3 * 16 * 64 * 4 },
        { "[t:32~2,1,0;]", "[t:64~1,3,1;]", "", -1 },
        { "[t;]", "[t:32~2,1,0;]", "slice", 0 },
        { "[;t]", "[t:64~1,3,1;]", "all-to-all halo", (3 * 16 * 16 + 2 * 64) * 4 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_reshard r = pl_reshard_new(&m, a);
        pl_placement x = parse(&m, cases[i].from), y = parse(&m, cases[i].to);
        pl_path path;
        pl_err err = { 0 };
        int which;
        bool ok = pl_reshard_find(&r, PL_F32, &s, 1, &x, &y, &which, &path, &err);
        EXPECT(ok == (cases[i].bytes >= 0), "%s to %s: %s", cases[i].from, cases[i].to, err.msg);
        if (ok)
            EXPECT(!strcmp(kinds_of(a, &path), cases[i].kinds) && path.bytes == cases[i].bytes,
                   "%s to %s: %s of %d bytes", cases[i].from, cases[i].to, kinds_of(a, &path),
                   (int)path.bytes);
        else
            EXPECT(err.code == PL_EUNSUPPORTED && strstr(err.msg, "windows do not have all of it"),
                   "%s", err.msg);
        pl_arena_free(a);
    }
}

/* Rows that a device lacks, by the definition: those from the first to the last that its positions
 * see, without its own. */
static int rows_lacking(int rank, int devices, int rows, const pl_split *w)
{
    int each = (rows + devices - 1) / devices, chunk = ((int)w->size + devices - 1) / devices;
    int first = rank * chunk, last = (rank + 1) * chunk - 1, n = 0;
    if (last >= w->size) last = (int)w->size - 1;
    for (int i = 0; i < rows && first <= last; i++)
        n += i >= first * w->stride - w->pad && i < last * w->stride - w->pad + w->reach &&
             i / each != rank;
    return n;
}

/* All windows that fit: every device receives its lack and no more, the move says the most of them;
 * with stride 1 and "same" padding a border costs reach - 1 rows. */
static void check_window(int devices, int rows, pl_split w)
{
    const pl_mesh m = { 1, { { "t", devices, 0, 0 } } };
    const pl_shape s = { 2, { rows, 3 } };
    pl_placement x = { 0 }, y = { 0 };
    int64_t sum = 0, most = 0;
    pl_placement_split(&x, 0, 0);
    pl_placement_add(&y, w);
    y = pl_placement_normal(&y, &m, &s);
    if (!pl_halo_is_end(&y)) return; /* windows side by side */
    pl_move v = { .kind = PL_HALO, .axes = 1, .from = pl_placement_normal(&x, &m, &s), .to = y };
    for (int r = 0; r < devices; r++) {
        int64_t lack = 3 * rows_lacking(r, devices, rows, &w), got = 0;
        EXPECT(pl_halo_lack(&v, &m, &s, r) == lack, "%d of %d, %d rows", r, devices, rows);
        for (int i = 0; i < devices; i++) {
            pl_region block;
            if (pl_halo_block(&v, &m, &s, r, i, r, &block)) got += pl_region_count(&block);
        }
        EXPECT(got == lack, "%d of %d, %d rows: gets %d", r, devices, rows, (int)got);
        sum += lack;
        if (lack > most) most = lack;
    }
    bool same = w.stride == 1 && w.size == rows && rows % devices == 0;
    if (same && rows / devices >= w.pad && rows / devices >= w.reach - 1 - w.pad)
        EXPECT(sum == 3 * (devices - 1) * (w.reach - 1), "%d devices, %d rows, reach %d", devices,
               rows, w.reach);
    pl_arena *a = pl_arena_new("test");
    pl_reshard r = pl_reshard_new(&m, a);
    pl_path path;
    pl_err err = { 0 };
    int which;
    EXPECT(pl_reshard_find(&r, PL_F32, &s, 1, &x, &y, &which, &path, &err), "%s", err.msg);
    bool halo = path.n == 1 && path.move[0].kind == PL_HALO;
    if (halo) EXPECT(path.bytes == 4 * most, "%d bytes", (int)path.bytes);
    if (!most) EXPECT(path.bytes == 0, "nothing is lacking");
    pl_arena_free(a);
}

static void test_lack(void **state)
{
    (void)state;
    for (int devices = 2; devices <= 5; devices++)
        for (int rows = 2; rows <= 13; rows++)
            for (int reach = 1; reach <= 5; reach++)
                for (int stride = 1; stride <= 3; stride++)
                    for (int pad = 0; pad <= 3; pad++) {
                        int size = (rows + 2 * pad - reach) / stride + 1;
                        if (rows + 2 * pad < reach || size < 2) continue;
                        pl_split w = { .size = size, .stride = stride, .reach = reach, .pad = pad };
                        check_window(devices, rows, w);
                    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_lack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
