/* models/models.h - the rows of pl_models, one file each (or one per family). */
#ifndef PL_MODELS_MODELS_H
#define PL_MODELS_MODELS_H
#include "models/model.h"

extern const pl_model pl_model_gpt2, pl_model_gpt2_medium, pl_model_gpt2_large, pl_model_gpt2_xl;
extern const pl_model pl_model_mlp, pl_model_moe;
extern const pl_model pl_model_resnet18, pl_model_resnet50;
extern const pl_model pl_model_alexnet, pl_model_vgg11, pl_model_vgg16;
extern const pl_model pl_model_mobilenet_v2, pl_model_mnasnet0_5, pl_model_efficientnet_b0;
extern const pl_model pl_model_vit_b_16, pl_model_roberta_base;
extern const pl_model pl_model_lstm, pl_model_rnn_4_8k, pl_model_rnn_6_4k, pl_model_rnn_10_8k;
extern const pl_model pl_model_t5, pl_model_t5_small, pl_model_t5_base, pl_model_t5_large;
extern const pl_model pl_model_t5_3b, pl_model_t5_11b;
extern const pl_model pl_model_llama, pl_model_llama3_8b, pl_model_llama3_70b;

#endif
