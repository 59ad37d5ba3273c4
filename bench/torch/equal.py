"""Equal weights, equal data, equal settings: are pleat's losses those of PyTorch?

pleat writes its initial weights; PyTorch loads them, reads the same batches and trains with the
same optimizer, schedule and clipping. Both run in f32; the losses of every step are compared.
Exit status 6 when any case is further apart than --limit.
"""

import argparse
import glob
import sys
import tempfile

import safetensors.torch
import torch

import models
import pleat

GPT2 = {
    "layers": 12,
    "hidden": 768,
    "heads": 12,
    "vocab": 50257,
    "seq": 128,
    "batch": 4,
    "dropout": 0,
}
# Rounding grows fast in a ResNet in training mode: 53 norms deep, over the 16 values that a channel
# of the last stage has at batch 4 and 64 x 64. At SGD 1e-4 PyTorch in f32 itself is 4e-4 from
# PyTorch in f64 after 20 steps, at AdamW 1e-5 2e-3 after 8 (--exact shows it), so rates are small.
# Training still shows: not to update at all moves the losses by more than five times the limit.
RESNET = {"optimizer": "sgd", "lr": 2e-5}
CASES = {
    "gpt2-tiny": (
        "gpt2",
        {
            "layers": 4,
            "hidden": 128,
            "heads": 4,
            "vocab": 256,
            "seq": 64,
            "batch": 12,
            "dropout": 0,
        },
        {},
    ),
    "gpt2": ("gpt2", GPT2, {"lr": 3e-4}),
    "resnet50-64": ("resnet50", {"size": 64, "batch": 4}, RESNET),
    "resnet50-224": ("resnet50", {"size": 224, "batch": 4}, RESNET),
}


def batch(name, keys, s, step, text):
    if name == "gpt2":
        pair = pleat.text_batch(text, 0.9, s["seed"], step, keys["batch"], keys["seq"])
        return tuple(torch.from_numpy(x) for x in pair)
    n, size = keys["batch"], keys["size"]
    image = pleat.synthetic("image", s["seed"], step, (n, size, size, 3))
    label = pleat.synthetic("label", s["seed"], step, (n,), 1000)
    return torch.from_numpy(image).permute(0, 3, 1, 2), torch.from_numpy(label)


def load(model, folder):
    """Every parameter and buffer must be in the checkpoint; moments there are left."""
    (file,) = glob.glob(f"{folder}/*.safetensors")
    have = safetensors.torch.load_file(file)
    want = {k: v for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")}
    missing = [k for k, v in want.items() if k not in have or have[k].shape != v.shape]
    if missing:
        raise SystemExit(f"{file}: missing or of another shape: {', '.join(missing)}")
    model.load_state_dict({k: have[k] for k in want}, strict=False)


def train(model, name, keys, s, text):
    optimizer = models.make_optimizer(model, s)
    losses = []
    real = next(model.parameters()).dtype
    for step in range(s["steps"]):
        models.set_rate(optimizer, pleat.rate(s, step))
        loss = model(
            *(x.to(real) if x.is_floating_point() else x for x in batch(name, keys, s, step, text))
        )
        optimizer.zero_grad()
        loss.backward()
        if s["clip"] > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), s["clip"])
        optimizer.step()
        losses.append(loss.item())
    return losses


def differences(x, y):
    return [abs(a - b) / abs(b) for a, b in zip(x, y, strict=True)]


def compare(case, a, text):
    name, keys, more = CASES[case]
    s = {**pleat.SETTINGS, **more, "steps": a.steps}
    if a.lr is not None:
        s["lr"] = a.lr
    if a.optimizer:
        s["optimizer"] = a.optimizer
    data = a.text if name == "gpt2" else "synthetic"
    model = models.make(name, keys)
    exact = models.make(name, keys).double() if a.exact else None
    with tempfile.TemporaryDirectory() as folder:
        pleat.run(
            pleat.command(a.pleat, name, keys, data, {**s, "steps": 0}, a.threads, "--save", folder)
        )
        load(model, folder)
        if exact:
            load(exact, folder)
    lines, _ = pleat.run(pleat.command(a.pleat, name, keys, data, s, a.threads))
    ours = [x["loss"] for x in lines if "loss" in x]
    theirs = train(model, name, keys, s, text)
    if exact:
        truth = train(exact, name, keys, s, text)
        print(
            f"{case}: from PyTorch in f64: pleat {max(differences(ours, truth)):.2e}, "
            f"PyTorch in f32 {max(differences(theirs, truth)):.2e}"
        )
    apart = differences(ours, theirs)
    if a.verbose:
        for i, (x, y, d) in enumerate(zip(ours, theirs, apart)):
            print(f"  step {i + 1:3} pleat {x:.7f} torch {y:.7f} apart {d:.1e}")
    worst = max(apart)
    print(
        f"{case}: {len(ours)} steps, loss {ours[0]:.6f} -> {ours[-1]:.6f}; "
        f"largest relative difference {worst:.2e} (limit {a.limit:g})"
        + ("" if worst <= a.limit else " TOO LARGE"),
        flush=True,
    )
    return worst <= a.limit


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("cases", nargs="*", metavar="CASE", help=f"of: {', '.join(CASES)}; default: all")
    p.add_argument("--pleat", default="build/pleat", help="the binary")
    p.add_argument("--text", required=True, metavar="FILE", help="what the language models read")
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--limit", type=float, default=1e-4, help="on relative differences of losses")
    p.add_argument("--lr", type=float, help="instead of the case's")
    p.add_argument("--optimizer", help="instead of adamw: sgd")
    p.add_argument("--exact", action="store_true", help="also how far both are from PyTorch in f64")
    p.add_argument("--verbose", action="store_true", help="print every step")
    a = p.parse_args()
    wrong = [c for c in a.cases if c not in CASES]
    if wrong:
        p.error(f"unknown: {', '.join(wrong)} (of: {', '.join(CASES)})")
    torch.set_num_threads(a.threads)
    torch.set_flush_denormal(True)
    with open(a.text, "rb") as f:
        text = f.read()
    ok = [compare(case, a, text) for case in a.cases or CASES]
    sys.exit(0 if all(ok) else 6)


if __name__ == "__main__":
    main()
