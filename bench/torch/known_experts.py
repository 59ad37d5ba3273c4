"""Prints the logits of test/models/test_experts.c: transformers' models with weights by formula.

A weight named N has the elements 0.4 sin(0.7 i + sum of N's bytes), a norm's weight 1 + a quarter of that; i counts all
experts of a layer through, and N is then the name without the expert's number. Token i is 5 i mod 32."""

import re
import sys
import tempfile

import torch
import transformers as tf
from safetensors.torch import load_file, save_file

BASE = dict(vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=32)
GROUPED = BASE | dict(num_key_value_heads=2)
LATENT = BASE | dict(num_key_value_heads=4, moe_intermediate_size=8, n_routed_experts=8, num_experts_per_tok=3,
                     first_k_dense_replace=1, kv_lora_rank=8, qk_nope_head_dim=4, qk_rope_head_dim=6, v_head_dim=5)
EXPERTS = dict(moe_intermediate_size=8, num_experts=6, num_experts_per_tok=2)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=40.0, original_max_position_embeddings=16, beta_fast=32, beta_slow=1,
            mscale=0.707, mscale_all_dim=0.9)
MODELS = {
    "mixtral": (tf.MixtralForCausalLM, tf.MixtralConfig, GROUPED | dict(num_local_experts=4, rope_parameters=dict(
        rope_type="default", rope_theta=10000.0))),
    "qwen2_moe": (tf.Qwen2MoeForCausalLM, tf.Qwen2MoeConfig,
                  GROUPED | EXPERTS | dict(shared_expert_intermediate_size=12, mlp_only_layers=[0])),
    "qwen3_moe": (tf.Qwen3MoeForCausalLM, tf.Qwen3MoeConfig,
                  GROUPED | EXPERTS | dict(head_dim=8, norm_topk_prob=True, decoder_sparse_step=2)),
    "deepseek_v2": (tf.DeepseekV2ForCausalLM, tf.DeepseekV2Config,
                    LATENT | dict(q_lora_rank=None, topk_method="group_limited_greedy", n_group=4, topk_group=2,
                                  routed_scaling_factor=4.0)),
    "deepseek_v3": (tf.DeepseekV3ForCausalLM, tf.DeepseekV3Config, LATENT | dict(q_lora_rank=12, n_group=4, topk_group=2)),
    "deepseek_v2, yarn": (tf.DeepseekV2ForCausalLM, tf.DeepseekV2Config,
                          LATENT | dict(q_lora_rank=None, rope_parameters=YARN)),
}


def formula(name, x, at):
    i = torch.arange(x.numel(), dtype=torch.float64) + at
    y = 0.4 * torch.sin(0.7 * i + sum(name.encode()))
    return ((1 + y / 4) if name.endswith("norm.weight") else y).reshape(x.shape).float()


def fill(folder):
    path = folder + "/model.safetensors"
    tensors = load_file(path)
    for name, x in tensors.items():
        expert = re.search(r"experts\.(\d+)\.", name)
        at = int(expert[1]) * x.numel() if expert else 0
        tensors[name] = formula(re.sub(r"experts\.\d+\.", "experts.", name), x, at)
    save_file(tensors, path, {"format": "pt"})


def main():
    for name, (make, config, sizes) in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            make(config(**sizes)).save_pretrained(folder)
            fill(folder)
            model = make.from_pretrained(folder).eval()
        tokens = torch.arange(14).reshape(2, 7) * 5 % 32
        with torch.no_grad():
            logits = model(input_ids=tokens).logits[1, 6]
        print(name, ", ".join(f"{x:.6f}" for x in logits[:6].tolist()), flush=True)


tf.logging.set_verbosity_error()
sys.exit(main())
