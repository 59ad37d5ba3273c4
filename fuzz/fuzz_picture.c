/* libFuzzer target: any bytes as a picture; what is decoded has all of its bytes, and makes finite
 * numbers. */
#include "data/view.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(const pl_picture *p)
{
    static const pl_frame frames[] = { { 5, 4, 3, false }, { 4, 5, 1, true } };
    float x[60];
    PL_ASSERT(p->height > 0 && p->width > 0 && (p->channels == 1 || p->channels == 3));
    for (int i = 0; i < 2; i++) {
        const pl_view v = pl_view_middle(p, &frames[i]);
        pl_view_render(&v, p, &frames[i], x);
        for (int k = 0; k < 20 * frames[i].channels; k++)
            PL_ASSERT(isfinite(x[k]) && fabsf(x[k]) < 1.001f);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_picture p;
    pl_err err = { 0 };
    if (pl_picture_decode(bytes, n, a, &p, &err))
        check(&p);
    else
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
    pl_arena_free(a);
    return 0;
}
