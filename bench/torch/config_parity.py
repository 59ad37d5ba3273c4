"""Hugging Face folders in pleat: config_parity.py PLEAT [NAME ...]

For each architecture transformers makes a small model of random weights and saves it (config.json, model.safetensors);
`pleat train FOLDER --weights FOLDER` takes one step on the same rows, and its loss has to be that of PyTorch."""

import json
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers as tf
from safetensors.torch import save_file

ROWS, SEQ, VOCAB = 2, 16, 96
DECODER = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
               num_key_value_heads=2, max_position_embeddings=32)
ENCODER = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
               max_position_embeddings=34)
TEXT = {
    "gpt2": (tf.GPT2LMHeadModel, tf.GPT2Config, dict(vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, n_positions=32,
                                                     bos_token_id=0, eos_token_id=0)),
    "llama": (tf.LlamaForCausalLM, tf.LlamaConfig, DECODER),
    "mistral": (tf.MistralForCausalLM, tf.MistralConfig, DECODER | dict(sliding_window=None)),
    "qwen2": (tf.Qwen2ForCausalLM, tf.Qwen2Config, DECODER),
    "qwen3": (tf.Qwen3ForCausalLM, tf.Qwen3Config, DECODER | dict(head_dim=16)),
    "bert": (tf.BertForMaskedLM, tf.BertConfig, ENCODER),
    "roberta": (tf.RobertaForMaskedLM, tf.RobertaConfig, ENCODER),
}


def text(name):
    make, config, sizes = TEXT[name]
    model = make(config(**sizes)).eval()
    tokens, targets = (torch.randint(2, VOCAB, (2 * ROWS, SEQ)) for _ in range(2))
    with torch.no_grad():
        logits = model(input_ids=tokens[:ROWS]).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets[:ROWS].flatten())
    dropout = ",dropout=0" if name in ("gpt2", "bert", "roberta") else ""
    return model, {"tokens": tokens, "targets": targets}, loss, f",seq={SEQ}{dropout}"


def t5():
    """The decoder reads the encoder's tokens, as pleat's does."""
    sizes = dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0, decoder_start_token_id=0)
    model = tf.T5ForConditionalGeneration(tf.T5Config(vocab_size=VOCAB, **sizes)).eval()
    tokens, targets = (torch.randint(2, VOCAB, (2 * ROWS, SEQ)) for _ in range(2))
    with torch.no_grad():
        logits = model(input_ids=tokens[:ROWS], decoder_input_ids=tokens[:ROWS]).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets[:ROWS].flatten())
    return model, {"tokens": tokens, "targets": targets}, loss, f",seq={SEQ}"


def vit():
    sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=16, patch_size=4)
    model = tf.ViTForImageClassification(tf.ViTConfig(num_labels=10, **sizes)).eval()
    image, label = torch.randn(2 * ROWS, 3, 16, 16), torch.randint(0, 10, (2 * ROWS,))
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(model(pixel_values=image[:ROWS]).logits, label[:ROWS])
    return model, {"image": image.permute(0, 2, 3, 1).contiguous(), "label": label}, loss, ""


def step(pleat, folder, rows, keys):
    command = [pleat, "train", f"{folder}:batch={ROWS}{keys}", "--weights", folder, "--data", rows, "--data-order", "file",
               "--train-share", "0.5", "--steps", "1", "--eval-batches", "0", "--json", "--optimizer", "sgd", "--clip", "0"]
    p = subprocess.run(command, capture_output=True, text=True)
    losses = [json.loads(line).get("loss") for line in p.stdout.splitlines()]
    if p.returncode or not losses or "not found" in p.stderr:
        raise SystemExit(p.stderr)
    return next(x for x in losses if x is not None)


def main():
    warnings.filterwarnings("ignore")
    tf.logging.set_verbosity_error()
    pleat, names = sys.argv[1], sys.argv[2:] or [*TEXT, "t5", "vit"]
    worst = 0
    for name in names:
        torch.manual_seed(0)
        model, batch, loss, keys = {"vit": vit, "t5": t5}.get(name, lambda: text(name))()
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(suffix=".safetensors") as rows:
            model.save_pretrained(folder)
            save_file(batch, rows.name)
            got = step(pleat, folder, rows.name, keys)
        difference = abs(got - loss.item()) / loss.item()
        worst = max(worst, difference)
        print(f"{name:8} PyTorch {loss.item():.7f}  pleat {got:.7f}  {difference:.1e}", flush=True)
    sys.exit(worst > 1e-6)


main()
