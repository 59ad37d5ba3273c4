#include "models/models.h"

const pl_model *const pl_models[] = {
    &pl_model_gpt2,       &pl_model_gpt2_medium,
    &pl_model_gpt2_large, &pl_model_gpt2_xl,
    &pl_model_mlp,        &pl_model_moe,
    &pl_model_resnet18,   &pl_model_resnet50,
    &pl_model_alexnet,    &pl_model_vgg11,
    &pl_model_vgg16,      &pl_model_mobilenet_v2,
    &pl_model_mnasnet0_5, &pl_model_efficientnet_b0,
    &pl_model_vit_b_16,   &pl_model_roberta_base,
    &pl_model_lstm,       &pl_model_rnn_4_8k,
    &pl_model_rnn_6_4k,   &pl_model_rnn_10_8k,
    &pl_model_t5,         &pl_model_t5_small,
    &pl_model_t5_base,    &pl_model_t5_large,
    &pl_model_t5_3b,      &pl_model_t5_11b,
    &pl_model_llama,      &pl_model_llama3_8b,
    &pl_model_llama3_70b, NULL,
};
