"""Does pleat train what PyTorch exports? Forward, gradients and losses of ONNX files, compared.

Each model of onnx_models.py is exported (ways: ts and dynamo as they come; ts-raw and dynamo-raw
without the exporters' folding), then trained by `pleat train FILE.onnx` on rows that PyTorch wrote.
Forward: with loss=mse and PyTorch's output as the target, the loss is the squared difference.
Gradients: what one step of plain SGD took from every weight. Losses: ten steps under three layouts.
Exit status 6 when anything is further apart than its limit.
"""

import argparse
import contextlib
import copy
import glob
import io
import json
import logging
import math
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import safetensors.torch
import torch
from torch import nn
from torch.fx.experimental import optimization

import onnx_models
import pleat

WAYS = ("ts", "ts-raw", "dynamo", "dynamo-raw")
LAYOUTS = (("1", "dp"), ("2", "zero=3"), ("2", "auto"))
STEPS, BIG = 10, 100.0  # BIG: a rate at which a step's digits are the gradient's
LIMITS = {"forward": 1e-4, "loss": 1e-5, "gradient": 1e-3, "layouts": 1e-5, "steps": 1e-4}


class Wrong(Exception):
    pass


# -- exporting -------------------------------------------------------------------------------------


@contextlib.contextmanager
def silence():
    """A failing exporter prints its whole graph, past Python's own streams."""
    sys.stdout.flush()
    kept = [os.dup(1), os.dup(2)]
    with open(os.devnull, "w", encoding="utf-8") as null:
        os.dup2(null.fileno(), 1), os.dup2(null.fileno(), 2)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        for fd, old in zip((1, 2), kept):
            os.dup2(old, fd), os.close(old)


def export(case, way, path):
    names = list(case.inputs)
    rows = {0: "batch"}
    common = {"input_names": names, "output_names": ["output"]}
    if way.startswith("ts"):
        common |= {"dynamo": False, "opset_version": 17}
        common |= {"dynamic_axes": {n: rows for n in names}}
        if way == "ts-raw":
            common |= {"do_constant_folding": False, "training": torch.onnx.TrainingMode.PRESERVE}
    else:
        size = {0: torch.export.Dim("batch", min=2, max=64)}
        each = tuple(dict(size) for _ in names)
        common |= {"dynamo": True, "external_data": False, "optimize": way == "dynamo"}
        star = isinstance(case.module, onnx_models.First)
        common |= {"dynamic_shapes": (each,) if star else each}
    with silence():
        torch.onnx.export(case.module, tuple(case.inputs.values()), path, **common)


# -- what PyTorch says -----------------------------------------------------------------------------


def rearranged(t, order):
    return torch.cat([t.chunk(len(order))[i] for i in order])


def recurrent(name, module, of):
    """Weights of recurrent layers as ONNX has them: gates in its order, directions joined."""
    order = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}[type(module).__name__]
    ways = ("", "_reverse") if module.bidirectional else ("",)
    for layer in range(module.num_layers):
        get = lambda kind: [
            rearranged(of(getattr(module, f"{kind}_l{layer}{way}")), order) for way in ways
        ]
        yield f"{name}.w{layer}", torch.stack(get("weight_ih"))
        yield f"{name}.r{layer}", torch.stack(get("weight_hh"))
        bias = zip(get("bias_ih"), get("bias_hh"))
        yield f"{name}.b{layer}", torch.stack([torch.cat(pair) for pair in bias])


def tensors(module, of):
    for name, m in module.named_modules():
        if isinstance(m, nn.RNNBase):
            yield from recurrent(f"{name}/", m, of)
    for name, p in module.named_parameters():
        yield name, of(p)


class Reference:
    """A module, its weights and their gradients in the shapes that a file may have."""

    def __init__(self, case, module):
        self.case, self.module = case, module.requires_grad_(True)
        self.output = module(*case.inputs.values())
        self.loss = case.loss_of(self.output)
        module.zero_grad()
        self.loss.backward()
        grads = dict(tensors(module, lambda p: torch.zeros_like(p) if p.grad is None else p.grad))
        self.weights = {n: (w.detach(), grads[n]) for n, w in tensors(module, lambda p: p)}

    def find(self, value):
        """The weight, as it lies there or transposed, or the first rows of it; and its gradient."""
        for name, (w, g) in self.weights.items():
            if w.numel() < value.numel() or w.dtype != value.dtype:
                continue
            for x, y in ((w, g), (w.t(), g.t())) if w.dim() == 2 else ((w, g),):
                x, y = x.reshape(-1)[: value.numel()], y.reshape(-1)[: value.numel()]
                if torch.allclose(x, value.reshape(-1), 1e-5, 1e-6):
                    return name, y.reshape(value.shape)
        return None, None

    def train(self, rates):
        module = copy.deepcopy(self.module)
        optimizer = torch.optim.SGD(module.parameters(), lr=rates[0])
        losses = []
        for rate in rates:
            optimizer.param_groups[0]["lr"] = rate
            loss = self.case.loss_of(module(*self.case.inputs.values()))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


def references(case):
    """The module, and with batch norms folded into convolutions, as exporters do."""
    yield Reference(case, case.module)
    if any(isinstance(m, nn.BatchNorm2d) for m in case.module.modules()):
        yield Reference(case, optimization.fuse(case.module))


# -- what pleat says -------------------------------------------------------------------------------


def write_rows(case, path, target):
    """Twice the same rows: those that train, and those that validate."""
    known = set(case.constant)
    rows = {k: v for k, v in case.inputs.items() if k not in known}
    label = "targets" if len(case.shape) == 3 else "label"
    rows["target" if target is not None or case.loss == "mse" else label] = (
        case.label if target is None else target.detach()
    )
    both = {k: torch.cat([v, v]).contiguous() for k, v in rows.items()}
    safetensors.torch.save_file(both, path)


def run(a, case, path, data, loss, steps, lr, layout=LAYOUTS[0], save=None):
    model = f"{path}:batch={onnx_models.BATCH},loss={loss},guess=yes"
    c = [a.pleat, "train", model, "--data", data, "--data-order", "file", "--train-share", "0.5"]
    c += ["--optimizer", "sgd", "--momentum", "0", "--decay", "0", "--clip", "0", "--lr", str(lr)]
    c += ["--steps", str(steps), "--eval-batches", "0", "--threads", "1", "--json"]
    c += ["--devices", layout[0], "--strategy", layout[1]] + (["--save", save] if save else [])
    p = subprocess.run(c, capture_output=True, text=True, check=False)
    if p.returncode:
        raise Wrong(f"exit {p.returncode}: {p.stderr.strip().splitlines()[-1][:400]}")
    lines = [json.loads(line) for line in p.stdout.splitlines() if line.startswith("{")]
    return [x["loss"] for x in lines if "loss" in x]


def load(folder):
    (file,) = glob.glob(f"{folder}/*.safetensors")
    return safetensors.torch.load_file(file)


def weights_after(a, case, path, data, steps):
    save = f"{path}.after{steps}"
    losses = run(a, case, path, data, case.loss, steps, BIG, save=save)
    return load(save), losses


# -- comparing -------------------------------------------------------------------------------------


def counts(a, path):
    p = subprocess.run(
        [a.pleat, "graph", path, "--guess", "--batch", "4", "--optimizer", "sgd", "--json"],
        capture_output=True, text=True, check=False,
    )
    if p.returncode:
        raise Wrong(f"exit {p.returncode}: {p.stderr.strip()[:500]}")
    return json.loads(p.stdout)


def choose(case, before, changed):
    """The reference that has every weight that moved."""
    missing = None
    for reference in references(case):
        found = {k: reference.find(before[k]) for k in changed}
        lost = [k for k, (name, _) in found.items() if name is None]
        if not lost:
            return reference, found
        missing = missing or lost
    raise Wrong(f"trains what PyTorch does not have: {' '.join(missing)[:300]}")


def gradient_error(reference, found, before, after):
    worst, where, seen = 0.0, "", set()
    largest = max(g.abs().max().item() for _, g in found.values())
    for k, (name, g) in found.items():
        ours = (before[k].double() - after[k].double()) / BIG
        seen.add(name)
        # that of a key's bias is 0 but for rounding
        scale = max(g.abs().max().item(), 1e-4 * largest)
        error = (ours - g.double()).abs().max().item() / scale
        if not error <= worst:
            worst, where = error, k
    layers = {n.split("/")[0] for n in seen if "/" in n}  # recurrent ones, joined
    silent = [n for n, (_, g) in reference.weights.items()
              if n not in seen and g.abs().max() > 1e-4 * largest and "/" not in n
              and n.rpartition(".")[0] not in layers]
    if silent:
        raise Wrong(f"does not train: {' '.join(silent)[:300]}")
    if not worst <= LIMITS["gradient"]:
        raise Wrong(f"gradient of {where}: {worst:.1e}")
    return worst


def apart(x, y):
    return max(abs(p - q) / max(abs(q), 1e-6) for p, q in zip(x, y, strict=True))


def compare(a, name, case, way, folder):
    path = os.path.join(folder, f"{name}.{way}.onnx")
    row = {"way": way}
    try:
        export(case, way, path)
    except Exception as e:  # an exporter may raise anything
        while e.__cause__:
            e = e.__cause__
        return row | {"why": f"export: {type(e).__name__}: {str(e).splitlines()[0][:200]}"}
    try:
        n = counts(a, path)
        row |= {"nodes": n.get("nodes"), "parameters": n.get("params")}
        data = f"{path}.rows.safetensors"
        write_rows(case, data, None)
        before, _ = weights_after(a, case, path, data, 0)
        after, (loss, *_) = weights_after(a, case, path, data, 1)
        changed = [k for k in before
                   if not k.endswith(".momentum") and not torch.equal(before[k], after[k])]
        reference, found = choose(case, before, changed)
        row["loss"] = apart([loss], [reference.loss.item()])
        row["gradient"] = gradient_error(reference, found, before, after)
        output = f"{path}.output.safetensors"
        write_rows(case, output, reference.output)
        (square, *_) = run(a, case, path, output, "mse", 1, 0)
        row["forward"] = math.sqrt(square) / reference.output.abs().max().item()
        lines = [run(a, case, path, data, case.loss, STEPS, case.lr, layout) for layout in LAYOUTS]
        rates = [pleat.rate({"steps": STEPS, "warmup": 0, "lr": case.lr}, i) for i in range(STEPS)]
        row["first"], row["last"] = lines[0][0], [x[-1] for x in lines]
        row["layouts"] = max(apart(x, lines[0]) for x in lines[1:])
        row["steps"] = apart(lines[0], reference.train(rates))
        wrong = [f"{k} {row[k]:.1e}" for k, limit in LIMITS.items() if not row[k] <= limit]
        if wrong:
            row["why"] = ", ".join(wrong)
    except Wrong as e:
        row["why"] = str(e)
    return row


def show(name, row):
    cells = [name, row["way"], row.get("nodes", ""), row.get("parameters", "")]
    cells += [f"{row[k]:.0e}" if k in row else "" for k in ("forward", "loss", "gradient")]
    last = row.get("last")
    cells.append(f"{row['first']:.5f} -> " + ", ".join(f"{x:.5f}" for x in last) if last else "")
    cells += [f"{row[k]:.0e}" if k in row else "" for k in ("layouts", "steps")]
    print("| " + " | ".join(str(c) for c in cells) + f" | {row.get('why', 'equal')} |", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("cases", nargs="*", metavar="CASE",
                   help=f"of: {', '.join(onnx_models.CASES)}; default: all")
    p.add_argument("--pleat", default="build/pleat", help="the binary")
    p.add_argument("--ways", default=",".join(WAYS), help="exporters")
    p.add_argument("--seed", type=int, default=1, help="of weights and rows")
    p.add_argument("--keep", metavar="DIR", help="where the files stay")
    a = p.parse_args()
    wrong = [c for c in a.cases if c not in onnx_models.CASES]
    if wrong:
        p.error(f"unknown: {', '.join(wrong)}")
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    print("| model | export | nodes | parameters | forward | loss | gradient | losses of 10 steps: "
          "1, zero=3, auto | layouts | PyTorch | |")
    print("|---" * 11 + "|")
    fine = True
    for name in a.cases or onnx_models.CASES:
        torch.manual_seed(a.seed)
        case = onnx_models.CASES[name]()
        for way in a.ways.split(","):
            with tempfile.TemporaryDirectory() as folder:
                row = compare(a, name, case, way, a.keep or folder)
            show(name, row)
            fine &= "why" not in row
    sys.exit(0 if fine else 6)


if __name__ == "__main__":
    main()
