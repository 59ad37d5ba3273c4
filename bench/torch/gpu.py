#!/usr/bin/env python3
"""Training steps and kernels of PyTorch on one GPU, timed: what forecasts of pleat are held against.

    bench/torch/gpu.py steps > bench/gpu.csv              a row per model: seconds of a step, bytes
    bench/torch/gpu.py kernels > bench/gpu_kernels.csv    a row per kernel and size: seconds

Models have pleat's names. GPT-2 is models.py's; the others are those of transformers and torchvision,
as they come. bf16 is autocast over f32 weights, as pleat's dtype=bf16 is; f32 products are without
TF32. AdamW is the fused one. "compiled": each block of the model is compiled by itself, ResNet-50 whole.
Kernels run in a CUDA graph, so that the host's time to start them is not counted; "start" is that
time. --device cpu and --only TEXT (rows whose name has it) are for trying this out."""

import argparse
import csv
import itertools
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import models

MIB = 2**20
STEPS = [
    "gpt2:layers=4,hidden=256,heads=4,seq=256,batch=8",
    "gpt2:seq=256,batch=4",
    "gpt2:batch=1",
    "gpt2:batch=4",
    "gpt2:batch=16",
    "gpt2:batch=16,vocab=50304",
    "gpt2:batch=16,dtype=f32",
    "gpt2-medium:batch=8",
    "gpt2-medium:batch=8,dtype=f32",
    "gpt2-large:batch=8",
    "gpt2-xl:batch=4",
    "llama:layers=16,hidden=2048,heads=32,kv=8,ffn=8192,vocab=32000,seq=2048,batch=1",
    "llama:layers=16,hidden=2048,heads=32,kv=8,ffn=8192,vocab=32000,seq=4096,batch=4",
    "llama:layers=4,hidden=4096,heads=32,kv=8,ffn=14336,vocab=32000,seq=2048,batch=1",
    "llama:layers=4,hidden=4096,heads=32,kv=8,ffn=14336,vocab=32000,seq=8192,batch=2",
    "llama:layers=4,hidden=4096,heads=32,kv=8,ffn=14336,vocab=32000,seq=32768,batch=1",
    "llama:layers=2,hidden=8192,heads=64,kv=8,ffn=28672,vocab=32000,seq=4096,batch=2",
    "bert-large:batch=4",
    "bert-large:batch=32",
    "vit_b_16:batch=16",
    "vit_b_16:batch=128",
    "vit_b_16:layers=24,hidden=1024,ffn=4096,heads=16,batch=64",
    "vit_b_16:layers=24,hidden=1024,ffn=4096,heads=16,batch=32,dtype=f32",
    "resnet50:batch=16",
    "resnet50:batch=128",
    "resnet50:batch=128,dtype=f32",
]
PRESETS = {
    "gpt2": {"seq": 1024, "vocab": 50257, "layers": 12, "hidden": 768, "heads": 12},
    "gpt2-medium": {"seq": 1024, "vocab": 50257, "layers": 24, "hidden": 1024, "heads": 16},
    "gpt2-large": {"seq": 1024, "vocab": 50257, "layers": 36, "hidden": 1280, "heads": 20},
    "gpt2-xl": {"seq": 1024, "vocab": 50257, "layers": 48, "hidden": 1600, "heads": 25},
    "llama": {},
    "bert-large": {"seq": 512, "vocab": 30522},
    "vit_b_16": {"layers": 12, "hidden": 768, "ffn": 3072, "heads": 12},
    "resnet50": {},
}


def parse(spec):
    name, _, text = spec.partition(":")
    keys = {**PRESETS[name], **dict(pair.split("=") for pair in text.split(",") if pair)}
    dtype = keys.pop("dtype", "bf16")
    return name, dtype, {k: int(v) for k, v in keys.items()}


# -- models ----------------------------------------------------------------------------------------


def make_gpt2(keys, device):
    model = models.Gpt2(**keys).to(device)
    return model, list(model.h), lambda tokens: model(tokens, tokens.long())


def name_tokens(model):
    """The loss of one of transformers' models that names a token for each."""
    return lambda tokens: F.cross_entropy(model(tokens).logits.flatten(0, 1), tokens.flatten())


def make_llama(k, device):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=k["hidden"], num_hidden_layers=k["layers"], num_attention_heads=k["heads"],
        num_key_value_heads=k["kv"], intermediate_size=k["ffn"], vocab_size=k["vocab"],
        max_position_embeddings=k["seq"], use_cache=False, attn_implementation="sdpa")
    with torch.device(device):
        model = LlamaForCausalLM(config)
    return model, list(model.model.layers), name_tokens(model)


def make_bert(k, device):
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096,
        vocab_size=k["vocab"], attn_implementation="sdpa")
    with torch.device(device):
        model = BertForMaskedLM(config)
    return model, list(model.bert.encoder.layer), name_tokens(model)


def classify(model):
    """The loss of a model of images."""

    def loss(image):
        labels = torch.zeros(image.shape[0], dtype=torch.long, device=image.device)
        return F.cross_entropy(model(image), labels)

    return loss


def make_vit(k, device):
    from torchvision.models.vision_transformer import VisionTransformer

    with torch.device(device):
        model = VisionTransformer(224, 16, k["layers"], k["heads"], k["hidden"], k["ffn"])
    return model, list(model.encoder.layers), classify(model)


def make_resnet50(_, device):
    from torchvision.models import resnet50

    with torch.device(device):
        model = resnet50()
    return model, [model], classify(model)


MAKERS = {
    "llama": make_llama, "bert-large": make_bert, "vit_b_16": make_vit, "resnet50": make_resnet50,
}  # fmt: skip


def make_inputs(keys, device):
    if "seq" in keys:
        return torch.randint(0, keys["vocab"], (keys["batch"], keys["seq"]), device=device)
    return torch.randn(keys["batch"], 3, 224, 224, device=device)


# -- steps -----------------------------------------------------------------------------------------


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def time_steps(step, device, warm, n):
    """Seconds of a step among n in a row, for which the host does not wait; the median of three rows."""
    for _ in range(warm):
        step()
    seconds = []
    for _ in range(3):
        wait(device)
        start = time.perf_counter()
        for _ in range(n):
            step()
        wait(device)
        seconds.append((time.perf_counter() - start) / n)
    return statistics.median(seconds)


def run_step(spec, compiled, device):
    name, dtype, keys = parse(spec)
    model, blocks, loss = MAKERS.get(name, make_gpt2)(keys, device)
    if name == "resnet50":
        model.to(memory_format=torch.channels_last)
    for part in blocks if compiled else []:
        part.compile()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    inputs = make_inputs(keys, device)
    if name == "resnet50":
        inputs = inputs.contiguous(memory_format=torch.channels_last)

    def step():
        with torch.autocast(device, torch.bfloat16, enabled=dtype == "bf16"):
            value = loss(inputs)
        value.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    seconds = time_steps(step, device, *((4, 5) if device == "cuda" else (1, 1)))
    return seconds, torch.cuda.max_memory_allocated() if device == "cuda" else 0


def pleat_model(spec):
    """The same for pleat; models.py's GPT-2 has no dropout."""
    more = [] if "dtype=" in spec else ["dtype=bf16"]
    more += ["dropout=0"] if spec.startswith("gpt2") else []
    return ",".join([spec, *more])


def steps(asked):
    device = asked.device
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["model", "way", "measured_s", "measured_bytes", "device", "torch"])
    for compiled, spec in itertools.product([False, True], STEPS):
        if asked.only not in spec or ("eager" if not compiled else "compiled") not in asked.ways:
            continue
        begun = time.perf_counter()
        try:
            seconds, peak = run_step(spec, compiled, device)
        except Exception as error:  # a model that does not run leaves the others their rows
            print(f"{spec}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
            continue
        finally:
            torch._dynamo.reset()
            if device == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
        way = "compiled" if compiled else "eager"
        out.writerow([pleat_model(spec), way, f"{seconds:.6g}", peak, name_of(device), torch.__version__])
        sys.stdout.flush()
        print(f"{spec} {way}: {1e3 * seconds:.2f} ms, {time.perf_counter() - begun:.0f} s",
              file=sys.stderr)


def name_of(device):
    return torch.cuda.get_device_name() if device == "cuda" else device


# -- kernels ---------------------------------------------------------------------------------------


def time_kernel(run, device):
    """Seconds of one run among many in a row, in the device's time where there is a graph of them."""
    for _ in range(3):
        run()
    if device != "cuda":
        start = time.perf_counter()
        run()
        return time.perf_counter() - start
    torch.cuda.synchronize()
    graph, n = torch.cuda.CUDAGraph(), 10
    with torch.cuda.graph(graph):
        for _ in range(n):
            run()
    seconds = []
    for _ in range(6):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        graph.replay()
        last.record()
        torch.cuda.synchronize()
        seconds.append(1e-3 * first.elapsed_time(last) / n)
    return statistics.median(seconds[1:])


TYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


def products(device):
    """[m, k] x [k, n]; then those of a table of tokens."""
    for dtype, m in itertools.product(TYPES, (128, 512, 2048, 8192, 32768)):
        for k, n in itertools.product((64, 256, 1024, 2048, 4096, 16384), repeat=2):
            if 2 * m * k * n > (2e13 if dtype == "bf16" else 3e11):
                continue
            a, b = (torch.randn(s, device=device, dtype=TYPES[dtype]) for s in ((m, k), (k, n)))
            yield "product", dtype, f"{m}x{k}x{n}", 2 * m * k * n, lambda a=a, b=b: a @ b
    for vocab in (50257, 50258, 50260, 50264, 50304):  # the table of a vocabulary, and its gradients
        x, w, y = (torch.randn(s, device=device, dtype=torch.bfloat16)
                   for s in ((16384, 768), (vocab, 768), (16384, vocab)))
        work = 2 * 16384 * 768 * vocab
        yield "logits", "bf16", f"16384x768x{vocab}", work, lambda x=x, w=w: x @ w.t()
        yield "logits to input", "bf16", f"16384x{vocab}x768", work, lambda y=y, w=w: y @ w
        yield "logits to table", "bf16", f"{vocab}x16384x768", work, lambda y=y, x=x: y.t() @ x


def attentions(device):
    """Causal, forward; and backward alone: forward and backward less forward."""
    for rows, seq, heads, width in [(16, 256, 12, 64), (16, 1024, 12, 64), (4, 1024, 25, 64),
                                    (4, 4096, 32, 64), (4, 4096, 32, 128), (1, 8192, 32, 128),
                                    (1, 32768, 32, 128), (1, 2048, 32, 128)]:
        q, k, v = (torch.randn(rows, heads, seq, width, device=device, dtype=torch.bfloat16,
                               requires_grad=True) for _ in range(3))
        g = torch.randn_like(q)

        def forward(q=q, k=k, v=v):
            with torch.no_grad():
                F.scaled_dot_product_attention(q, k, v, is_causal=True)

        def both(q=q, k=k, v=v, g=g):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            torch.autograd.grad(y, (q, k, v), g)

        size, flops = f"{rows}x{seq}x{heads}x{width}", 4 * rows * heads * seq * seq * width // 2
        yield "attention", "bf16", size, flops, forward
        yield "attention and gradient", "bf16", size, 7 * flops // 2, both


def streams(device):
    """What moves bytes: flops_or_bytes is the bytes read and written."""
    for dtype, mib in itertools.product(TYPES, (0.0625, 0.5, 4, 32, 256, 1024)):
        count = int(mib * MIB) // TYPES[dtype].itemsize
        x = torch.randn(count // 1024, 1024, device=device, dtype=TYPES[dtype])
        y, w = torch.randn_like(x), torch.ones(1024, device=device, dtype=TYPES[dtype])
        size = f"{mib:g} MiB"
        yield "add", dtype, size, 3 * mib * MIB, lambda x=x, y=y: torch.add(x, y)
        yield "gelu", dtype, size, 2 * mib * MIB, lambda x=x: F.gelu(x)
        yield ("layer_norm", dtype, size, 2 * mib * MIB,
               lambda x=x, w=w: F.layer_norm(x, (1024,), w, w))
        yield "softmax", dtype, size, 2 * mib * MIB, lambda x=x: torch.softmax(x, 1)


def host_start(device):
    """Seconds that the host takes to start one kernel after the other, of eager PyTorch."""
    x, n = torch.ones(16, device=device), 3000
    for _ in range(100):
        x.add_(1)
    wait(device)
    start = time.perf_counter()
    for _ in range(n):
        x.add_(1)
    wait(device)
    return (time.perf_counter() - start) / n


def kernels(asked):
    device = asked.device
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["kernel", "type", "size", "flops_or_bytes", "seconds", "device", "torch"])
    tell = [name_of(device), torch.__version__]
    out.writerow(["start", "f32", "1", 0, f"{host_start(device):.6g}", *tell])
    for kind, dtype, size, work, run in itertools.chain(
            products(device), attentions(device), streams(device)):
        if asked.only not in f"{kind} {dtype} {size}":
            continue
        out.writerow([kind, dtype, size, int(work), f"{time_kernel(run, device):.6g}", *tell])


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["steps", "kernels"])
    options.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    options.add_argument("--only", default="")
    options.add_argument("--ways", default="eager,compiled")
    asked = options.parse_args()
    if asked.device == "cuda" and not torch.cuda.is_available():
        sys.exit("bench/torch/gpu.py: no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    {"steps": steps, "kernels": kernels}[asked.what](asked)


if __name__ == "__main__":
    main()
