/* Scores of pictures end to end: the real ones themselves are at distance 0 and have their own
 * inception score; others are farther, the more they differ. */
#include "jobs.h"

#include "base/rng.h"
#include "train/score.h"
#include "../data/pictures.h"

enum { SIDE = 12, PIXELS = SIDE * SIDE, N = 96, CLASSES = 3 };

static const char *const folder = "bars";
static const char *const resnet = "resnet18:stages=2,blocks=1,width=4,size=12,classes=3,batch=12";
static unsigned char picture[N * PIXELS];

/* Noise with a bright bar at one of three heights. */
static int make_bars(void **state)
{
    unsigned char label[N];
    (void)state;
    assert_int_equal(system("rm -rf bars judge"), 0);
    mkdir(folder, 0777);
    for (int i = 0; i < N; i++) {
        const pl_rng r = pl_rng_at(5, (uint64_t)i);
        label[i] = (unsigned char)(i % CLASSES);
        for (int k = 0; k < PIXELS; k++)
            picture[i * PIXELS + k] = (unsigned char)((k / SIDE / 4 == label[i] ? 150 : 0) +
                                                      (int)pl_rng_below(r, (uint64_t)k, 80));
    }
    write_idx("bars/train-images-idx3-ubyte", false, 3, (int64_t[]){ N, SIDE, SIDE }, picture,
              sizeof picture);
    write_idx("bars/train-labels-idx1-ubyte", false, 1, (int64_t[]){ N }, label, N);
    pl_train_options o = options();
    o.model = resnet;
    o.data = folder;
    o.steps = 10;
    o.save = "judge";
    o.eval_batches = 1;
    diary d;
    train_well(&o, 1, &d);
    return 0;
}

static int remove_bars(void **state)
{
    (void)state;
    assert_int_equal(system("rm -rf bars judge"), 0);
    return 0;
}

/* The score of the first n pictures, every other column brighter by `by`. */
static pl_score find_score(int64_t n, int by)
{
    pl_arena *a = pl_arena_new("test");
    const pl_exec_options exec = { .n_backends = sizeof backends / sizeof *backends,
                                   .backends = backends,
                                   .env.n_threads = 1 };
    pl_scorer *s = NULL;
    pl_score score;
    pl_err err = { 0 };
    if (!pl_score_open("judge", folder, n, &exec, a, &s, &err)) fail_msg("%s", err.msg);
    for (int64_t i = 0; i < n; i++) {
        unsigned char at[PIXELS];
        for (int k = 0; k < PIXELS; k++)
            at[k] = (unsigned char)(picture[i * PIXELS + k] + by * (k % 2));
        pl_score_add(s, &(pl_picture){ SIDE, SIDE, 1, at, SIDE, 1, 1 });
    }
    if (!pl_score_end(s, &score, &err)) fail_msg("%s", err.msg);
    pl_score_free(s);
    pl_arena_free(a);
    return score;
}

static void test_the_same(void **state)
{
    const pl_score s = find_score(N, 0);
    (void)state;
    assert_int_equal(s.made, N);
    assert_int_equal(s.real, N);
    assert_int_equal(s.features, 8);
    assert_int_equal(s.classes, CLASSES);
    assert_true(s.distance < 1e-6);
    assert_true(fabs(s.inception_made - s.inception_real) < 1e-9);
    assert_true(s.inception_real > 1 && s.inception_real <= CLASSES);
}

static void test_others(void **state)
{
    const double near = find_score(N, 4).distance, far = find_score(N, 24).distance;
    (void)state;
    assert_true(near > 1e-6);
    assert_true(far > 2 * near);
    assert_int_equal(find_score(40, 0).real, 40); /* a whole batch, and a part */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_the_same),
                                        cmocka_unit_test(test_others) };
    return cmocka_run_group_tests(tests, make_bars, remove_bars);
}
