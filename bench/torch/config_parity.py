"""Hugging Face folders in pleat: config_parity.py PLEAT [NAME ...]

For each architecture and option transformers makes a small model of random weights and saves it (config.json,
model.safetensors); `pleat train FOLDER --weights FOLDER` takes three steps of SGD on the same rows, and its losses have
to be those of PyTorch. NAME: an architecture, or one of its cases (phi3, phi3.longrope)."""

import json
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers as tf
from safetensors.torch import save_file

ROWS, SEQ, VOCAB, STEPS, LR = 2, 16, 96, 3, 0.1
DECODER = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
               num_key_value_heads=2, max_position_embeddings=32, pad_token_id=None, initializer_range=0.2)
ENCODER = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
               max_position_embeddings=34, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
               initializer_range=0.2)
GPT2 = dict(vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, n_positions=32, bos_token_id=0, eos_token_id=0,
            resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, initializer_range=0.2)
GEMMA = DECODER | dict(head_dim=16)
T5 = dict(vocab_size=VOCAB, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0, decoder_start_token_id=0)
VIT = dict(num_labels=10, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=16,
           patch_size=4, initializer_range=0.2)


def rope(kind, theta=10000.0, **more):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=theta, **more))


LLAMA3 = rope("llama3", 50.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
YARN = dict(factor=4.0, original_max_position_embeddings=8)
LONG = dict(short_factor=[1.0, 1.5, 2.0], long_factor=[1.0, 2.5, 7.0])
ROPES = {
    "theta": rope("default", 500.0),
    "linear": rope("linear", factor=4.0),
    "dynamic": rope("dynamic", factor=4.0) | dict(max_position_embeddings=8),
    "llama3": LLAMA3,
    "yarn": rope("yarn", 100.0, **YARN),
    "yarn_rounded": rope("yarn", 20.0, beta_fast=2.0, beta_slow=0.5, truncate=False, **YARN),
    "yarn_mscale": rope("yarn", 100.0, mscale=1.0, mscale_all_dim=0.5, **YARN),
    "yarn_attention": rope("yarn", 100.0, attention_factor=1.3, **YARN),
}
ACTS = {f"act_{a}": a for a in ("gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu", "quick_gelu", "relu2", "tanh")}
WINDOWS = ["sliding_attention", "full_attention"]


def acts(field):
    return {name: {field: a} for name, a in ACTS.items()}


EXPERTS = DECODER | dict(moe_intermediate_size=24, num_experts=6, num_experts_per_tok=2)
QWEN2 = EXPERTS | dict(shared_expert_intermediate_size=40)
PLAIN = dict(num_hidden_layers=4, decoder_sparse_step=2, mlp_only_layers=[1])
LATENT = DECODER | dict(num_key_value_heads=4, moe_intermediate_size=24, n_routed_experts=8, num_experts_per_tok=3,
                        first_k_dense_replace=1, q_lora_rank=12, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=6,
                        v_head_dim=10)
GROUPS = dict(n_group=4, topk_group=2)
LATENTS = {
    "bias": dict(attention_bias=True), "queries": dict(q_lora_rank=None), "act": dict(hidden_act="relu"),
    "yarn": rope("yarn", 100.0, mscale=0.707, mscale_all_dim=0.9, beta_fast=32, beta_slow=1, **YARN),
    "yarn_plain": ROPES["yarn"], "theta": ROPES["theta"], "dense": dict(first_k_dense_replace=2)}
TEXT = {
    "gpt2": (tf.GPT2LMHeadModel, tf.GPT2Config, GPT2, acts("activation_function") | {
        "inner": dict(n_inner=50), "untied": dict(tie_word_embeddings=False), "plain": dict(scale_attn_weights=False),
        "by_layer": dict(scale_attn_by_inverse_layer_idx=True), "upcast": dict(reorder_and_upcast_attn=True),
        "eps": dict(layer_norm_epsilon=0.01)}),
    "llama": (tf.LlamaForCausalLM, tf.LlamaConfig, DECODER, ROPES | acts("hidden_act") | {
        "tied": dict(tie_word_embeddings=True), "bias": dict(attention_bias=True), "mlp_bias": dict(mlp_bias=True),
        "head": dict(head_dim=6), "kv1": dict(num_key_value_heads=1), "kv4": dict(num_key_value_heads=4),
        "eps": dict(rms_norm_eps=0.01)}),
    "mistral": (tf.MistralForCausalLM, tf.MistralConfig, DECODER | dict(sliding_window=None), {
        "window": dict(sliding_window=5), "wide": dict(sliding_window=99), "head": dict(head_dim=6),
        "yarn": ROPES["yarn"]}),
    "qwen2": (tf.Qwen2ForCausalLM, tf.Qwen2Config, DECODER, {
        "yarn": ROPES["yarn"], "tied": dict(tie_word_embeddings=True),
        "window": dict(use_sliding_window=True, sliding_window=5, max_window_layers=1),
        "window_all": dict(use_sliding_window=True, sliding_window=5, max_window_layers=0),
        "window_none": dict(use_sliding_window=True, sliding_window=5, max_window_layers=28)}),
    "qwen3": (tf.Qwen3ForCausalLM, tf.Qwen3Config, DECODER | dict(head_dim=16), {
        "bias": dict(attention_bias=True), "yarn": ROPES["yarn"],
        "layers": dict(use_sliding_window=True, sliding_window=5, layer_types=WINDOWS)}),
    "phi3": (tf.Phi3ForCausalLM, tf.Phi3Config, DECODER | dict(num_key_value_heads=4, bos_token_id=0, eos_token_id=0), {
        "window": dict(sliding_window=5), "groups": dict(num_key_value_heads=2), "tied": dict(tie_word_embeddings=True),
        "partial": dict(partial_rotary_factor=0.75) | rope("default", partial_rotary_factor=0.75),
        "longrope": dict(original_max_position_embeddings=32, max_position_embeddings=64) |
        rope("longrope", short_factor=LONG["short_factor"] + [3.0], long_factor=LONG["long_factor"] + [9.0]),
        "longrope_long": dict(original_max_position_embeddings=8, max_position_embeddings=64) |
        rope("longrope", partial_rotary_factor=0.75, **LONG)}),
    "gemma": (tf.GemmaForCausalLM, tf.GemmaConfig, GEMMA, {
        "kv1": dict(num_key_value_heads=1), "legacy": dict(hidden_act="gelu"), "untied": dict(tie_word_embeddings=False)}),
    "gemma2": (tf.Gemma2ForCausalLM, tf.Gemma2Config, GEMMA, {
        "window": dict(sliding_window=5), "caps": dict(attn_logit_softcapping=2.0, final_logit_softcapping=1.0),
        "no_caps": dict(attn_logit_softcapping=None, final_logit_softcapping=None),
        "scalar": dict(query_pre_attn_scalar=144), "relu": dict(hidden_activation="relu"),
        "layers": dict(sliding_window=5, layer_types=WINDOWS[::-1]), "bias": dict(attention_bias=True)}),
    "gemma3": (tf.Gemma3ForCausalLM, tf.Gemma3TextConfig, GEMMA | dict(num_hidden_layers=7), {
        "window": dict(sliding_window=5), "pattern": dict(sliding_window=5, sliding_window_pattern=2),
        "linear": dict(sliding_window=5, rope_parameters={
            "full_attention": dict(rope_type="linear", factor=8.0, rope_theta=1000000.0),
            "sliding_attention": dict(rope_type="default", rope_theta=100.0)}),
        "caps": dict(final_logit_softcapping=1.0)}),
    "mixtral": (tf.MixtralForCausalLM, tf.MixtralConfig, DECODER | dict(num_local_experts=4), {
        "k1": dict(num_experts_per_tok=1), "k4": dict(num_experts_per_tok=4), "tied": dict(tie_word_embeddings=True),
        "window": dict(sliding_window=5), "act": dict(hidden_act="gelu"), "head": dict(head_dim=6),
        "odd": dict(hidden_size=40)}),
    "qwen2_moe": (tf.Qwen2MoeForCausalLM, tf.Qwen2MoeConfig, QWEN2, {
        "plain": PLAIN, "even": dict(norm_topk_prob=True), "no_bias": dict(qkv_bias=False)}),
    "qwen3_moe": (tf.Qwen3MoeForCausalLM, tf.Qwen3MoeConfig, EXPERTS | dict(head_dim=16), {
        "plain": PLAIN, "even": dict(norm_topk_prob=True), "bias": dict(attention_bias=True), "yarn": ROPES["yarn"],
        "window": dict(use_sliding_window=True, sliding_window=5)}),
    "deepseek_v2": (tf.DeepseekV2ForCausalLM, tf.DeepseekV2Config, LATENT, LATENTS | {
        "groups": dict(topk_method="group_limited_greedy", routed_scaling_factor=4.0) | GROUPS,
        "greedy": dict(topk_method="greedy") | GROUPS}),
    "deepseek_v3": (tf.DeepseekV3ForCausalLM, tf.DeepseekV3Config, LATENT | GROUPS, LATENTS | {
        "uneven": dict(norm_topk_prob=False, routed_scaling_factor=1.0), "one": dict(n_group=1, topk_group=1),
        "shared": dict(n_shared_experts=2)}),
    "bert": (tf.BertForMaskedLM, tf.BertConfig, ENCODER, acts("hidden_act") | {"eps": dict(layer_norm_eps=0.01)}),
    "roberta": (tf.RobertaForMaskedLM, tf.RobertaConfig, ENCODER, acts("hidden_act") | {
        "pad0": dict(pad_token_id=0), "pad3": dict(pad_token_id=3)}),
}
OTHER = {
    "t5": {"": {}} | {a: dict(feed_forward_proj=a) for a in ("gelu", "silu", "gated-gelu", "gated-silu", "gated-relu")} |
          {"untied": dict(tie_word_embeddings=False), "buckets": dict(relative_attention_num_buckets=8)},
    "vit": {"": {}} | acts("hidden_act") | {"no_bias": dict(qkv_bias=False), "eps": dict(layer_norm_eps=0.01)},
}


def losses(model, forward, target):
    """Of SGD without momentum, on one half of the rows after the other."""
    found = []
    for step in range(STEPS):
        rows = slice(step % 2 * ROWS, step % 2 * ROWS + ROWS)
        logits = forward(rows)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, -2), target[rows].flatten().long())
        model.zero_grad()
        loss.backward()
        found.append(loss.item())
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= LR * p.grad
    return found


def spread(model):
    """Routers that are sure, and whose biases choose."""
    with torch.no_grad():
        for name, x in [*model.named_parameters(), *model.named_buffers()]:
            if name.endswith((".gate.weight", "e_score_correction_bias")):
                x.copy_(torch.randn_like(x))


def text(name, case):
    make, config, sizes, cases = TEXT[name]
    options = sizes | cases.get(case, {})
    model = make(config(**options)).eval()
    model.set_attn_implementation("eager")
    spread(model)
    tokens, targets = (torch.randint(4, VOCAB, (3 * ROWS, SEQ)) for _ in range(2))
    return model, {"tokens": tokens, "targets": targets}, lambda rows: model(input_ids=tokens[rows]).logits, f",seq={SEQ}"


def t5(case):
    """The decoder reads the encoder's tokens, as pleat's does."""
    model = tf.T5ForConditionalGeneration(tf.T5Config(**T5 | OTHER["t5"][case])).eval()
    tokens, targets = (torch.randint(2, VOCAB, (3 * ROWS, SEQ)) for _ in range(2))
    return (model, {"tokens": tokens, "targets": targets},
            lambda rows: model(input_ids=tokens[rows], decoder_input_ids=tokens[rows]).logits, f",seq={SEQ}")


def vit(case):
    model = tf.ViTForImageClassification(tf.ViTConfig(**VIT | OTHER["vit"][case])).eval()
    image, label = torch.randn(3 * ROWS, 3, 16, 16), torch.randint(0, 10, (3 * ROWS,))
    return (model, {"image": image.permute(0, 2, 3, 1).contiguous(), "label": label},
            lambda rows: model(pixel_values=image[rows]).logits, "")


def steps(pleat, folder, rows, keys):
    command = [pleat, "train", f"{folder}:batch={ROWS}{keys}", "--weights", folder, "--data", rows, "--data-order", "file",
               "--train-share", "0.7", "--steps", str(STEPS), "--eval-batches", "0", "--json", "--optimizer", "sgd",
               "--momentum", "0", "--decay", "0", "--clip", "0", "--lr", str(LR), "--lr-min", str(LR)]
    p = subprocess.run(command, capture_output=True, text=True)
    found = [json.loads(line).get("loss") for line in p.stdout.splitlines()]
    found = [x for x in found if x is not None][:STEPS]
    if p.returncode or len(found) < STEPS or "not found" in p.stderr:
        raise ValueError(p.stderr)
    return found


def check(pleat, name, case):
    torch.manual_seed(0)
    model, batch, forward, keys = t5(case) if name == "t5" else vit(case) if name == "vit" else text(name, case)
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(suffix=".safetensors") as rows:
        model.save_pretrained(folder)
        save_file(batch, rows.name)
        got = steps(pleat, folder, rows.name, keys)
    wanted = losses(model, forward, batch["label" if name == "vit" else "targets"])
    difference = max(abs(a - b) / b for a, b in zip(got, wanted))
    print(f"{name + '.' + case if case else name:24} PyTorch {wanted[0]:.7f} ... {wanted[-1]:.7f}  pleat {got[0]:.7f} ... "
          f"{got[-1]:.7f}  {difference:.1e}", flush=True)
    return difference


def main():
    warnings.filterwarnings("ignore")
    tf.logging.set_verbosity_error()
    torch.set_num_threads(1)
    pleat, names = sys.argv[1], sys.argv[2:]
    cases = [(name, case) for name in TEXT for case in ["", *TEXT[name][3]]]
    cases += [(name, case) for name in OTHER for case in OTHER[name]]
    bad = 0
    for name, case in cases:
        if names and name not in names and f"{name}.{case}" not in names:
            continue
        try:
            bad += not check(pleat, name, case) < 1e-6
        except ValueError as problem:
            bad += 1
            print(f"{name}.{case}: {problem}", flush=True)
    sys.exit(f"{bad} of {len(cases)} are not equal" if bad else 0)


main()
