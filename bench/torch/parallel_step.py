"""One rank of PyTorch training of GPT-2 over gloo; torchrun starts it, parallel.py starts torchrun.

--mode dp     DistributedDataParallel
       zero3  fully_shard on each block, then on the model (FSDP2)
       tp     parallelize_module: attention and MLP by columns and then by rows
--tuned is what a careful user of a CPU would set: fused AdamW, denormals flushed, gradients that
are views of DDP's buckets, and, with tp, the tied table split by vocabulary under loss_parallel
(parallel.py also gives these processes an allocator that keeps its memory). Without it, PyTorch as
it comes. Rank 0 prints one JSON line per step, then one about all ranks.
"""

import argparse
import contextlib
import datetime
import glob
import json
import os
import sys
import time

import numpy as np
import safetensors
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

import models
import pleat
import step as single

# -- tp: GPT-2 as parallelize_module wants it ------------------------------------------------------


class SplitAttention(nn.Module):
    """models.Attention with q, k and v apart: a column split of [m, 3m] would mix the three."""

    def __init__(self, hidden, heads):
        super().__init__()
        self.width = hidden // heads
        self.q, self.k, self.v, self.c_proj = (nn.Linear(hidden, hidden) for _ in range(4))

    def forward(self, x):
        b, s, _ = x.shape
        q, k, v = (
            f(x).view(b, s, -1, self.width).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, s, -1))


class SplitMlp(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class SplitGpt2(models.Gpt2):
    """models.Gpt2 with modules that the parallel styles know; the same mathematics."""

    def __init__(self, layers=12, hidden=768, heads=12, vocab=50257, seq=128, **_):
        super().__init__(layers, hidden, heads, vocab, seq)
        for block in self.h:
            block.attn, block.mlp = SplitAttention(hidden, heads), SplitMlp(hidden)
        self.head = nn.Linear(hidden, vocab, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe.weight
        for block in self.h:
            x = block(x)
        logits = self.head(self.ln_f(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.reshape(-1))


def split(model, mesh, by_vocabulary):
    whole = PrepareModuleInput(
        input_layouts=(Replicate(),), desired_input_layouts=(Replicate(),)
    )  # q, k, v share one input: one all-reduce of its gradient
    columns = {name: ColwiseParallel() for name in ("attn.q", "attn.k", "attn.v", "mlp.c_fc")}
    rows = {name: RowwiseParallel() for name in ("attn.c_proj", "mlp.c_proj")}
    for block in model.h:
        parallelize_module(block, mesh, {"attn": whole, **columns, **rows})
    if by_vocabulary:
        plan = {
            "wte": RowwiseParallel(input_layouts=Replicate()),
            "head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
        }
        parallelize_module(model, mesh, plan)
        model.head.weight = model.wte.weight


# -- weights ---------------------------------------------------------------------------------------


def whole_weight(model, file, name):
    """A parameter of any of the models above out of pleat's checkpoint, not yet cut."""
    parts = name.split(".")
    if parts[-2] in ("q", "k", "v"):
        third = "qkv".index(parts[-2])
        value = file.get_tensor(".".join([*parts[:-2], "c_attn", parts[-1]])).chunk(3, -1)[third]
    else:
        value = file.get_tensor(name)
    # nn.Linear keeps [out, in]; pleat and models.Dense [in, out].
    if isinstance(model.get_submodule(".".join(parts[:-1])), nn.Linear):
        value = value.t()
    return value


def fill(model, folder):
    """Each rank reads the weights and keeps its share; no messages, no second model."""
    (path,) = glob.glob(f"{folder}/*.safetensors")
    with safetensors.safe_open(path, framework="pt") as file, torch.no_grad():
        for name, p in model.named_parameters():  # names the tied table once: wte.weight
            value = whole_weight(model, file, name)
            if value.shape != p.shape:
                raise SystemExit(f"{name}: {list(value.shape)} saved, {list(p.shape)} wanted")
            if isinstance(p, DTensor):
                value = distribute_tensor(value, p.device_mesh, p.placements, src_data_rank=None)
            p.copy_(value)


def make(a, keys):
    """The model as the mode has it, with pleat's initial weights."""
    with torch.device("meta"):
        model = SplitGpt2(**keys) if a.mode == "tp" else models.Gpt2(**keys)
    if a.mode == "dp":
        model = model.to_empty(device="cpu")
        fill(model, a.weights)
        return DistributedDataParallel(model, gradient_as_bucket_view=a.tuned)
    mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
    if a.mode == "tp":
        split(model, mesh, a.tuned)
    else:
        for block in model.h:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
    model = model.to_empty(device="cpu")
    if a.mode == "tp":
        model.head.weight = model.wte.weight
    fill(model, a.weights)
    return model


# -- training --------------------------------------------------------------------------------------


def batches(a, keys):
    """Every step's rows of this rank. keys["batch"] is that of all ranks together."""
    rows, seq = keys["batch"], keys["seq"]
    shares, share = (1, 0) if a.mode == "tp" else (dist.get_world_size(), dist.get_rank())
    mine = slice(share * rows // shares, (share + 1) * rows // shares)
    text = b""
    if a.text:
        with open(a.text, "rb") as f:
            text = f.read()
    for i in range(a.steps):
        if text:
            pair = pleat.text_batch(text, 0.9, a.seed, i, rows, seq)
        else:
            names = "tokens", "targets"
            pair = [pleat.synthetic(x, a.seed, i, (rows, seq), keys["vocab"]) for x in names]
        yield tuple(torch.from_numpy(np.ascontiguousarray(x[mine])) for x in pair)


def apart(model, optimizer):
    """DTensors and plain tensors in groups of their own: no fused kernel takes both."""
    for group in list(optimizer.param_groups):
        kinds = [[p for p in group["params"] if isinstance(p, DTensor) == k] for k in (True, False)]
        group["params"] = kinds[0] or kinds[1]
        if all(kinds):
            optimizer.add_param_group({**group, "params": kinds[1]})
    return optimizer


def clip(model, most):
    """clip_grad_norm_, which does not take DTensors and plain tensors together."""
    grads = [[p for p in model.parameters() if isinstance(p, DTensor) == k] for k in (True, False)]
    norms = [get_total_norm([p.grad for p in ps]) for ps in grads if ps]
    norms = [x.full_tensor() if isinstance(x, DTensor) else x for x in norms]
    norm = torch.stack(norms).norm()
    for ps in grads:
        clip_grads_with_norm_(ps, most, norm)
    return norm.item()


def train(a, model, data, s):
    how = {"fused": True} if a.tuned else {}
    optimizer = apart(model, models.make_optimizer(model, s, **how))
    split_loss = loss_parallel if a.mode == "tp" and a.tuned else contextlib.nullcontext
    for i, batch in enumerate(data):
        start = time.perf_counter()
        models.set_rate(optimizer, pleat.rate(s, i))
        optimizer.zero_grad()  # before the forward pass: the old gradients are gone at its peak
        with split_loss():
            loss = model(*batch)
            loss.backward()
        norm = clip(model, s["clip"]) if s["clip"] > 0 else None
        optimizer.step()
        loss = loss.full_tensor() if isinstance(loss, DTensor) else loss
        yield {
            "step": i + 1,
            "loss": loss.item(),
            "grad_norm": norm,
            "seconds": time.perf_counter() - start,
        }


def gather(value):
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, value)
    return everywhere


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("keys", help="JSON object of GPT-2's sizes; batch is that of all ranks")
    p.add_argument("--mode", choices=["dp", "zero3", "tp"], required=True)
    p.add_argument("--weights", required=True, metavar="DIR", help="a checkpoint of pleat")
    p.add_argument("--text", metavar="FILE", help="what to learn; default: synthetic")
    p.add_argument("--settings", required=True, help="JSON object as pleat.SETTINGS")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--tuned", action="store_true")
    a = p.parse_args()
    keys, s = json.loads(a.keys), json.loads(a.settings)
    a.steps, a.seed = s["steps"], s["seed"]
    torch.set_num_threads(a.threads)
    torch.set_flush_denormal(a.tuned)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=300))
    imported = single.peak_mib()
    model = make(a, keys)
    lines = list(train(a, model, list(batches(a, keys)), s))
    peak = single.peak_mib()  # before what follows
    losses = gather([x["loss"] for x in lines])
    about = gather({"imported": imported, "peak": peak})
    if dist.get_rank() == 0:
        for i, x in enumerate(lines):
            print(json.dumps({**x, "loss": sum(of[i] for of in losses) / len(losses)}))
        cores = a.threads * len(about)
        torch.set_num_threads(cores)
        print(
            json.dumps(
                {
                    "torch": torch.__version__,
                    "imported_mib": max(x["imported"] for x in about),
                    "peak_mib": max(x["peak"] for x in about),
                    "peaks_mib": [round(x["peak"]) for x in about],
                    "gflops": single.gflops(cores),
                }
            ),
            flush=True,
        )
    dist.barrier()
    dist.destroy_process_group()
    # gloo's threads outlive the group as long as a DTensor refers to it, and now and then abort the
    # interpreter's own end (pytorch issue 190489). All is said and done, so there is none.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
