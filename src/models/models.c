#include "models/models.h"

static const pl_family *const families[] = {
    pl_models_gpt2, pl_models_llama, pl_models_bert,      pl_models_t5,      pl_models_lstm,
    pl_models_mlp,  pl_models_moe,   pl_models_deepseek,  pl_models_resnet,  pl_models_alexnet,
    pl_models_vgg,  pl_models_vit,   pl_models_mobilenet, pl_models_mnasnet, pl_models_efficientnet,
};

const pl_family *pl_model_at(int i)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const pl_family *m = families[f]; m->name; m++)
            if (i-- == 0) return m;
    return NULL;
}
