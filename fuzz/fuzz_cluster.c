/* libFuzzer target: any bytes as a cluster file, and as a name; what is read prints, and reads and
 * prints the same; its devices have classes, and meshes lie on it or are refused with a reason. */
#include "cluster/cluster.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_round_trip(const pl_cluster *c, pl_arena *a)
{
    pl_text first = { .arena = a }, second = { .arena = a };
    pl_cluster *again;
    pl_err err = { 0 };
    pl_cluster_print(c, &first);
    if (!pl_cluster_parse(first.at, first.n, c->name, a, &again, &err))
        pl_bug(__FILE__, __LINE__, "%s\n%s", err.msg, first.at);
    pl_cluster_print(again, &second);
    PL_ASSERT(!strcmp(first.at, second.at));
}

static void check_axes(const pl_cluster *c, int outer)
{
    const int size[] = { outer, c->n_devices / outer };
    pl_link link[2];
    pl_err err = { 0 };
    if (!pl_cluster_axes(c, 2, size, link, &err)) {
        PL_ASSERT(err.code == PL_EINPUT && *err.msg);
        return;
    }
    for (int i = 0; i < 2; i++) {
        PL_ASSERT(isfinite(link[i].latency) && link[i].latency >= 0);
        PL_ASSERT(isfinite(link[i].per_byte) && link[i].per_byte >= 0);
        PL_ASSERT(isfinite(pl_link_seconds(&link[i], 1e6)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_cluster *c;
    pl_err err = { 0 };
    if (pl_cluster_parse((const char *)bytes, n, "fuzz", a, &c, &err)) {
        check_round_trip(c, a);
        for (int i = 1; i <= 8; i++) check_axes(c, i);
        for (int i = 0; i < c->n_devices; i += 1 + c->n_devices / 7)
            PL_ASSERT(pl_cluster_device(c, i)->memory.value > 0);
    } else {
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
        PL_ASSERT(!strncmp(err.msg, "fuzz: line ", 11));
    }
    /* A name: a digit first, so that no file is looked for. */
    const char *name = pl_arena_span(a, (const char *)bytes, n < 40 ? n : 40);
    err = (pl_err){ 0 };
    if (*name >= '0' && *name <= '9' && !strpbrk(name, "/.")) {
        if (pl_cluster_find(name, a, &c, &err))
            check_round_trip(c, a);
        else
            PL_ASSERT(err.code && *err.msg);
    }
    pl_arena_free(a);
    return 0;
}
