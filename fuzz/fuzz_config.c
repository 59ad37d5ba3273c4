/* libFuzzer target: any bytes as a config.json; what is read is the spec of a built-in model. */
#include "models/config.h"
#include "models/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_config_found found;
    pl_model_args m;
    pl_err err = { 0 };
    if (pl_config_parse((const char *)bytes, n, "batch=3", a, &found, &err)) {
        if (!pl_model_parse(found.spec, a, &m, &err)) pl_bug(__FILE__, __LINE__, "%s", err.msg);
        PL_ASSERT_CMP(pl_model_int(&m, "batch"), ==, 3);
    } else {
        PL_ASSERT(err.code == PL_EINPUT || err.code == PL_EUNSUPPORTED);
        PL_ASSERT(*err.msg);
    }
    pl_arena_free(a);
    return 0;
}
