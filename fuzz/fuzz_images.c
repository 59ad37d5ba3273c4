/* libFuzzer target: any bytes as a file of pictures with labels, IDX or CIFAR. The first byte says
 * how many of the rest are the labels of an IDX file (times 4); what is read has labels below those
 * of the model, and fills a batch. */
#include "data/images.h"
#include "models/model.h"
#include "ops/lib/all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { SIZE = 4, ROWS = 2, CLASSES = 7 };

static const pl_graph *make_graph(pl_arena *a)
{
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    PL_ASSERT(pl_model_parse("vit_b_16:layers=1,hidden=4,heads=1,patch=4,size=4,classes=7,batch=2",
                             a, &args, &err));
    pl_builder b = pl_builder_new(a, &pl_ops_all, "images");
    pl_model_build(&b, &args, PL_TRAIN);
    PL_ASSERT(pl_builder_done(&b, &g, &err));
    return g;
}

/* A folder of this process, whose two files change from run to run. */
static char folder[] = "/tmp/fuzz-images-XXXXXX";

static const char *path_of(const char *kind)
{
    static char path[2][64];
    char *at = path[*kind == 'l'];
    snprintf(at, sizeof path[0], "%s/train-%s", folder, kind);
    return at;
}

static void remove_folder(void)
{
    unlink(path_of("images-idx3"));
    unlink(path_of("labels-idx1"));
    rmdir(folder);
}

static void write_file(const char *path, const uint8_t *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    PL_ASSERT(f && fwrite(at, 1, n, f) == n);
    fclose(f);
}

static void check_input(const pl_data *d, const pl_graph *g, const char *name, double below)
{
    static const pl_mesh one;
    double most = 0;
    float to[ROWS * SIZE * SIZE * 3];
    const pl_value *v = pl_graph_find(g, name);
    pl_port p = { .value = v, .shape = v->shape };
    const pl_region region = pl_region_of(&p.where, &one, &v->shape, 0);
    p.region = &region;
    for (int64_t step = -2; step < 2; step++) {
        pl_data_fill(d, &p, 1, step, 2, 0, to);
        for (int64_t i = 0; i < pl_shape_count(&v->shape); i++)
            most = fmax(most, fabs(pl_type_get(v->type, to, i)));
    }
    PL_ASSERT(most < below);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const pl_graph *g;
    static const pl_augment augment = { .crop = true, .mixup = 1 };
    if (!g) {
        g = make_graph(pl_arena_new("fuzzed model")); /* for as long as the process lives */
        PL_ASSERT(mkdtemp(folder) && !atexit(remove_folder));
    }
    const size_t n_labels = n && 4 * (size_t)bytes[0] < n ? 4 * (size_t)bytes[0] : 0;
    pl_arena *a = pl_arena_new("fuzz");
    pl_data d;
    pl_err err = { 0 };
    if (n) write_file(path_of("labels-idx1"), bytes + 1, n_labels);
    write_file(path_of("images-idx3"), n ? bytes + 1 + n_labels : bytes, n ? n - 1 - n_labels : 0);
    if (pl_images_open(path_of("images-idx3"), 0.5, false, 1, &g, &augment, a, &d, &err)) {
        PL_ASSERT(d.n > 1 && d.n_train > 0 && d.n_train < d.n);
        check_input(&d, g, "image", 1.001);
        check_input(&d, g, "label", CLASSES);
        PL_ASSERT(pl_data_check(&d, &err));
        pl_data_free(&d);
    } else {
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
    }
    pl_arena_free(a);
    return 0;
}
