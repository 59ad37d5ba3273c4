/* models/models.h - the rows of pl_models, one file each (or one per family). */
#ifndef PL_MODELS_MODELS_H
#define PL_MODELS_MODELS_H
#include "models/model.h"

extern const pl_model pl_model_gpt2, pl_model_gpt2_medium, pl_model_gpt2_large, pl_model_gpt2_xl;
extern const pl_model pl_model_mlp, pl_model_moe;
extern const pl_model pl_model_resnet18, pl_model_resnet50;

#endif
