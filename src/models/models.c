#include "models/models.h"

const pl_model *const pl_models[] = {
    &pl_model_gpt2,     &pl_model_gpt2_medium, &pl_model_gpt2_large,
    &pl_model_gpt2_xl,  &pl_model_mlp,         &pl_model_moe,
    &pl_model_resnet18, &pl_model_resnet50,    NULL,
};
