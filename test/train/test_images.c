/* Training on a folder of pictures: shapes are learned, the accuracy is told, the losses are the
 * same on any number of ranks and after a resume, and all ranks hear of one that is broken. */
#include "jobs.h"

#include "base/rng.h"
#include "../data/pictures.h"

enum { SIDE = 16, PIXELS = SIDE * SIDE, CLASSES = 3, OF_CLASS = 40 };

static const char *const folder = "shapes";
static const char *const vit =
    "vit_b_16:layers=1,hidden=24,ffn=48,heads=3,patch=4,size=12,classes=3,batch=12";
static double accuracy = -1; /* that was told last */

static void remove_shapes(void)
{
    assert_int_equal(system("rm -rf shapes"), 0);
}

/* Noise with a bright bar: across, down, or along the diagonal. */
static void draw(int class, int i, unsigned char *at)
{
    const pl_rng r = pl_rng_at(9, (uint64_t)(class * OF_CLASS + i));
    const int place = 4 + (int)pl_rng_below(r, PIXELS, SIDE - 8);
    for (int k = 0; k < PIXELS; k++) {
        const int y = k / SIDE, x = k % SIDE, off = class == 0 ? y - place : x - place;
        const bool bar = class < 2 ? off >= -1 && off <= 1 : abs(x - y) < 2;
        at[k] = (unsigned char)((bar ? 180 : 0) + (int)pl_rng_below(r, (uint64_t)k, 60));
    }
}

static int make_shapes(void **state)
{
    static const char *const names[CLASSES] = { "across", "diagonal", "down" };
    static const int class[CLASSES] = { 0, 2, 1 };
    unsigned char at[PIXELS];
    char path[64];
    (void)state;
    remove_shapes();
    remove_folder("one");
    mkdir(folder, 0777);
    for (int c = 0; c < CLASSES; c++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[c]);
        mkdir(path, 0777);
        for (int i = 0; i < OF_CLASS; i++) {
            draw(class[c], i, at);
            snprintf(path, sizeof path, "%s/%s/%d.%s", folder, names[c], i, i % 2 ? "png" : "jpg");
            (i % 2 ? write_png : write_jpeg)(path, SIDE, SIDE, 1, at);
        }
    }
    return 0;
}

static pl_train_options on_shapes(const char *augment)
{
    pl_train_options o = options();
    o.model = vit;
    o.data = folder;
    o.train_share = 0.75;
    o.augment = augment;
    o.optim.decay = 0;
    o.eval_batches = 5;
    return o;
}

static void hear(void *to, const pl_train_event *e)
{
    if (e->what == PL_TOLD_EVAL) accuracy = e->share[PL_SHARE_ACCURACY];
    note(to, e);
}

static void test_learns(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_train_options o = on_shapes("crop");
    pl_train_job *j;
    diary d = { 0 };
    pl_err err = { 0 };
    (void)state;
    o.steps = MAX_STEPS - 1;
    if (!pl_train_new(&o, 1, a, &j, &err) || !pl_train_run(j, NULL, hear, &d, NULL, &err))
        fail_msg("%s", err.msg);
    if (!(accuracy > 0.9)) fail_msg("accuracy %g, validation %g", accuracy, d.validation[0]);
    pl_train_free(j);
    pl_arena_free(a);
}

static void test_ranks_and_resume(void **state)
{
    const pl_train_options o = on_shapes("crop,flip,scale=0.3,mixup=0.5");
    pl_train_options saved = o, resumed = o;
    diary whole, many, rest;
    (void)state;
    saved.save = "one";
    saved.save_every = 5;
    resumed.resume = "one/step-00000005.json";
    train_well(&saved, 1, &whole);
    for (int n = 2; n <= 3; n++) {
        train_well(&o, n, &many);
        check_losses("ranks", &whole, &many, 0, 12, 1e-5);
    }
    train_well(&resumed, 1, &rest);
    check_losses("resumed", &whole, &rest, 5, 7, 0);
    assert_true(fabs(whole.validation[0] - rest.validation[0]) <= 0);
    remove_folder("one");
}

/* Sweeps over all pictures, without gradients: what they keep of each is in checkpoints, and on the
 * rank that has its rows. */
static void test_sweeps(void **state)
{
    static const char *const models[] = {
        "elman:steps=4,size=12,hidden=8,classes=3,batch=90,method=admm,near=10.0",
        "elman:steps=4,size=12,hidden=8,classes=3,batch=90,method=admm,near=10.0,age=2",
    };
    pl_train_options fewer = on_shapes(NULL);
    diary whole, many, rest;
    (void)state;
    for (int i = 0; i < 2; i++) {
        pl_train_options o = on_shapes(NULL);
        o.model = models[i];
        pl_train_options saved = o, resumed = o;
        saved.save = "one";
        saved.save_every = 5;
        resumed.resume = "one/step-00000005.json";
        train_well(&saved, 1, &whole);
        assert_true(whole.loss[11] < 0.8 * whole.loss[0]);
        for (int n = 2; n <= 3; n++) {
            train_well(&o, n, &many);
            check_losses("ranks", &whole, &many, 0, 12, 1e-3);
        }
        train_well(&resumed, 1, &rest);
        check_losses("resumed", &whole, &rest, 5, 7, 0);
        remove_folder("one");
    }
    pl_err err = { 0 };
    fewer.model = "elman:steps=4,size=12,classes=3,batch=30,method=admm";
    assert_false(train(&fewer, 1, &many, &err));
    assert_int_equal(err.code, PL_EUSAGE);
    if (!strstr(err.msg, "there are 90 to learn from, and batch=30: give --batch 90"))
        fail_msg("%s", err.msg);
}

/* Its beginning is that of a PNG: so it is found when it is read. */
static void test_broken(void **state)
{
    static const char start[] = "\x89PNG\r\n\x1a\n";
    pl_train_options o = on_shapes(NULL);
    diary d;
    (void)state;
    o.steps = 60;
    write_file("shapes/down/1.png", start, 8);
    for (int n = 1; n <= 3; n++) {
        pl_err err = { 0 };
        assert_false(train(&o, n, &d, &err));
        assert_int_equal(err.code, PL_EINPUT);
        if (!strstr(err.msg, "shapes/down/1.png: not a whole PNG: ")) fail_msg("%s", err.msg);
    }
}

static int clean_shapes(void **state)
{
    (void)state;
    remove_shapes();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_ranks_and_resume),
        cmocka_unit_test(test_sweeps),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, make_shapes, clean_shapes);
}
