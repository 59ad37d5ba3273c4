/* models/models.h - the families of pl_model_at, one file each; rows of a family differ in their
 * sizes, the first has no preset where it can be, the last one has no name. */
#ifndef PL_MODELS_MODELS_H
#define PL_MODELS_MODELS_H
#include "models/model.h"

extern const pl_family pl_models_gpt2[], pl_models_llama[], pl_models_bert[], pl_models_t5[];
extern const pl_family pl_models_vit[], pl_models_resnet[], pl_models_alexnet[], pl_models_vgg[];
extern const pl_family pl_models_mobilenet[], pl_models_mnasnet[], pl_models_efficientnet[];
extern const pl_family pl_models_lstm[], pl_models_mlp[], pl_models_moe[], pl_models_deepseek[];

#endif
