/* libFuzzer target: any text as a model spec; what is read is canonical and reads the same. */
#include "models/model.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Every key gives a number or a word, the last one a type; the canonical text gives the same. */
static void check_again(const pl_model_args *m, pl_arena *a)
{
    pl_model_args again;
    pl_err err = { 0 };
    if (!pl_model_parse(m->spec, a, &again, &err)) pl_bug(__FILE__, __LINE__, "%s", err.msg);
    PL_ASSERT(!strcmp(m->spec, again.spec));
    PL_ASSERT(pl_type_is_float(pl_model_type(m)));
    PL_ASSERT_CMP(pl_model_type(m), ==, pl_model_type(&again));
    for (int i = 0; i < m->n - 1; i++) {
        const pl_model_key *k = &m->model->keys[i];
        if (k->words) {
            PL_ASSERT(!strcmp(pl_model_word(m, k->name), pl_model_word(&again, k->name)));
            continue;
        }
        double x = pl_model_real(m, k->name), y = pl_model_real(&again, k->name);
        PL_ASSERT(x >= k->least && x >= y && x <= y);
        if (!strchr(k->value, '.')) PL_ASSERT_CMP(pl_model_int(m, k->name), <=, INT32_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_model_args m, more;
    pl_err err = { 0 };
    if (pl_model_parse(pl_arena_span(a, (const char *)bytes, n), a, &m, &err)) {
        check_again(&m, a);
        PL_ASSERT(pl_model_parse(pl_model_with(a, m.spec, "batch", "3"), a, &more, &err));
        PL_ASSERT_CMP(pl_model_int(&more, "batch"), ==, 3);
    } else {
        PL_ASSERT(err.code == PL_EUSAGE || err.code == PL_EINPUT);
        PL_ASSERT(*err.msg);
    }
    pl_arena_free(a);
    return 0;
}
