/* The list of families: pl_model_at(). */
#include "models/list.h"

#define ROW(name) pl_models_##name,
static const pl_family *const families[] = { PL_FAMILY_LIST(ROW) };

const pl_family *pl_model_at(int i)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const pl_family *m = families[f]; m->name; m++)
            if (i-- == 0) return m;
    return NULL;
}
