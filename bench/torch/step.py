"""Train a model in PyTorch for a few steps; one JSON line per step. speed.py starts it.

--tuned is what a careful user of a CPU would set: fused AdamW, channels-last images, denormals
flushed (speed.py also gives that process an allocator that keeps its memory). Without it, PyTorch
as it comes.
"""

import argparse
import json
import resource
import time

import torch

import models
import pleat


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def gflops(threads):
    """The best of a few matrix products: what the cores can do at this moment."""
    n, best = 1024, 1e30
    x, y = torch.rand(n, n), torch.rand(n, n)
    for _ in range(12):
        start = time.perf_counter()
        torch.mm(x, y)
        best = min(best, time.perf_counter() - start)
    return 2 * n**3 / best * 1e-9


def inputs(name, keys, tuned):
    n = keys["batch"]
    if name == "gpt2":
        text = torch.randint(keys["vocab"], (n, keys["seq"] + 1))
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()
    image = torch.rand(n, 3, keys["size"], keys["size"]) * 2 - 1
    layout = torch.channels_last if tuned else torch.contiguous_format
    return image.contiguous(memory_format=layout), torch.randint(1000, (n,))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("model", choices=["gpt2", "resnet50"])
    p.add_argument("keys", help="JSON object of sizes")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--steps", type=int, default=6)
    p.add_argument("--optimizer", default="adamw")
    p.add_argument("--tuned", action="store_true")
    p.add_argument("--compile", action="store_true", help="torch.compile the model")
    a = p.parse_args()
    keys = json.loads(a.keys)
    torch.set_num_threads(a.threads)
    torch.set_flush_denormal(a.tuned)
    imported = peak_mib()
    model = models.make(a.model, keys)
    if a.tuned and a.model == "resnet50":
        model = model.to(memory_format=torch.channels_last)
    s = {**pleat.SETTINGS, "steps": a.steps, "optimizer": a.optimizer}
    optimizer = models.make_optimizer(model, s, **({"fused": True} if a.tuned else {}))
    forward = torch.compile(model) if a.compile else model
    batch = inputs(a.model, keys, a.tuned)
    for step in range(a.steps):
        start = time.perf_counter()
        models.set_rate(optimizer, pleat.rate(s, step))
        optimizer.zero_grad()  # before the forward pass: the old gradients are gone at its peak
        loss = forward(*batch)
        loss.backward()
        optimizer.step()
        value = loss.item()
        print(
            json.dumps({"step": step + 1, "loss": value, "seconds": time.perf_counter() - start}),
            flush=True,
        )
    peak = peak_mib()  # before the calibration below
    print(
        json.dumps(
            {
                "torch": torch.__version__,
                "imported_mib": imported,
                "peak_mib": peak,
                "gflops": gflops(a.threads),
            }
        )
    )


if __name__ == "__main__":
    main()
