/* models/list.h - the families of models, in the order of pl_model_at. To add one: a file here that
 * defines pl_models_<name>[], and its row. Rows of a family differ in their sizes, the first has no
 * preset where it can be, the last one has no name. */
#ifndef PL_MODELS_LIST_H
#define PL_MODELS_LIST_H
#include "models/model.h"

#define PL_FAMILY_LIST(X) \
    X(gpt2) \
    X(llama) \
    X(bert) \
    X(t5) \
    X(lstm) \
    X(mlp) \
    X(elman) \
    X(moe) \
    X(dlrm) \
    X(dcn) \
    X(wide_deep) \
    X(deepseek) \
    X(resnet) \
    X(alexnet) \
    X(vgg) \
    X(vit) \
    X(widenet) \
    X(mobilenet) \
    X(mnasnet) \
    X(efficientnet) \
    X(dcgan) \
    X(sngan) \
    X(biggan)

#define PL_FAMILY_DECLARE(name) extern const pl_family pl_models_##name[];
PL_FAMILY_LIST(PL_FAMILY_DECLARE)

#endif
