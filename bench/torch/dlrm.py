"""A recommender (DLRM) beside PyTorch's nn.EmbeddingBag(sparse=True): losses and seconds of a step.

Both read the same rows of the same file in their order, begin with the same weights and train with
Adagrad (or SGD) in f32, without decay or clipping; losses of every step are compared. Adagrad's
first step is lr g / (|g| + eps): where g is a sum that is 0 but for rounding, an eps far below it
makes a whole step of that, in either direction, on either side. So eps is 1e-3 here. And a ReLU
whose input is 0 but for rounding lets a gradient through on one side alone: with --seed 1 one is
in the first case, of neuron 322 in step 5, at 1e-7. Then tables grow: a step should not take longer
for rows that it does not read. Rows are drawn by a power law (numpy's zipf, a=1.2, modulo the
table). With --hots N rows have bags of 0 to 2 N ids, told by offsets. With --stacked the tables stand
in one in pleat (sizes=26x10000). Prints CSV.
"""

import argparse
import glob
import os
import statistics
import sys
import tempfile
import time
import warnings

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch
from torch import nn

import pleat

DENSE = 13
KEYS = {"embed": 16, "bottom": "512-256-64", "top": "512-256", "dense": DENSE}


class Dlrm(nn.Module):
    """Naumov et al., 2019: weights named, shaped and used as in its public code."""

    def __init__(self, tables, rows, embed, mode, bottom=KEYS["bottom"], top=KEYS["top"]):
        super().__init__()
        bottom, top = ([int(x) for x in widths.split("-")] for widths in (bottom, top))
        self.emb_l = self.make_tables(tables, rows, embed, mode)
        self.bot_l = self.mlp([DENSE, *bottom, embed], relu_at_end=True)
        pairs = (tables + 1) * tables // 2
        self.top_l = self.mlp([embed + pairs, *top, 1], relu_at_end=False)
        self.pairs = torch.tril_indices(tables + 1, tables + 1, -1)

    @staticmethod
    def make_tables(tables, rows, embed, mode):
        return nn.ModuleList(
            nn.EmbeddingBag(rows, embed, mode=mode, sparse=mode != "max") for _ in range(tables)
        )

    def stack(self, x, bags):
        """x, and the vector of each table: [batch, 1 + tables, embed]."""
        return torch.stack([x] + [e(*bag) for e, bag in zip(self.emb_l, bags)], 1)

    @staticmethod
    def mlp(widths, relu_at_end):
        layers = []
        for i, (a, b) in enumerate(zip(widths, widths[1:])):
            layers.append(nn.Linear(a, b))
            if relu_at_end or i < len(widths) - 2:
                layers.append(nn.ReLU())
        return nn.Sequential(*layers)

    def forward(self, dense, bags, label):
        x = self.bot_l(dense)
        t = self.stack(x, bags)
        z = torch.bmm(t, t.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        z = self.top_l(torch.cat([x, z], 1)).squeeze(1)
        return nn.functional.binary_cross_entropy_with_logits(z, label)


def stacked(data):
    """The ids of all tables side by side, as the input cat_0."""
    ids = sorted((k for k in data if k.startswith("cat_")), key=lambda k: int(k[4:]))
    rest = {k: x for k, x in data.items() if k not in ids}
    return {**rest, "cat_0": np.stack([data[k] for k in ids], 1)}


def make_rows(a, path, tables, rows, n):
    draw, hots = np.random.default_rng(a.seed), a.hots
    data = {
        "dense": draw.random((n, DENSE), np.float32),
        "label": draw.integers(0, 2, n, np.int32),
    }
    for i in range(tables):
        ends = np.cumsum(draw.integers(0, 2 * hots + 1, n)) if hots else np.arange(1, n + 1)
        data[f"cat_{i}"] = (draw.zipf(1.2, ends[-1]) % rows).astype(np.int32)
        if hots:
            data[f"cat_{i}.offsets"] = np.append(0, ends[:-1]).astype(np.int32)
    safetensors.numpy.save_file(stacked(data) if a.stacked else data, path)
    return data


def settings(a, steps):
    s = {"steps": steps, "lr": a.lr, "lr-min": a.lr, "optimizer": a.optimizer, "clip": 0, "decay": 0}
    return {**s, **({"momentum": 0} if a.optimizer == "sgd" else {"eps": a.eps})}


def command(a, tables, rows, batch, steps, data, **mlps):
    keys = {**KEYS, **mlps, "batch": batch}
    keys |= {"sizes": f"{tables}x{rows}"} if a.stacked else {"tables": tables, "rows": rows}
    if a.hots:
        keys |= {"hots": 2 * a.hots, "bag": a.bag, "offsets": 1}
    c = pleat.command(a.pleat, "dlrm", keys, data, settings(a, steps), a.threads)
    return c + ["--data-order", "file", "--train-share", "0.999", "--timings"]


def run_pleat(a, tables, rows, batch, steps, data, *more):
    lines, mib = pleat.run(command(a, tables, rows, batch, steps, data) + list(more))
    return [x for x in lines if "loss" in x], mib


def take_bags(data, name, at):
    """Ids and offsets of the rows of a batch."""
    if f"{name}.offsets" not in data:
        return torch.from_numpy(data[name][at]).long(), torch.arange(at.stop - at.start)
    begin = data[f"{name}.offsets"][at.start : at.stop + 1].astype(np.int64)
    ids = data[name][begin[0] : begin[-1]]
    return torch.from_numpy(ids).long(), torch.from_numpy(begin[:-1] - begin[0])


def make_optimizer(a, parameters):
    if a.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=a.lr)
    return torch.optim.Adagrad(parameters, lr=a.lr, eps=a.eps)


def train_torch(a, model, data, batch, steps):
    optimizer = make_optimizer(a, model.parameters())
    ids = sorted((k for k in data if k[4:].isdigit()), key=lambda k: int(k[4:]))
    losses, seconds = [], []
    for step in range(steps):
        start = time.perf_counter()
        at = slice(step * batch, (step + 1) * batch)
        loss = model(
            torch.from_numpy(data["dense"][at]),
            [take_bags(data, k, at) for k in ids],
            torch.from_numpy(data["label"][at]).float(),
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
    return losses, seconds


def load(model, folder):
    (file,) = glob.glob(f"{folder}/*.safetensors")
    have = safetensors.torch.load_file(file)
    for i, table in enumerate(have.get(f"emb_l.0-{len(model.emb_l) - 1}.weight", ())):
        have[f"emb_l.{i}.weight"] = table
    model.load_state_dict({k: have[k] for k in model.state_dict()})


def compare(a, tables, rows, batch, equal):
    steps = a.steps
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        path = os.path.join(folder, "rows.safetensors")
        data = make_rows(a, path, tables, rows, (steps + 1) * batch + 1000)
        model = Dlrm(tables, rows, KEYS["embed"], a.bag)
        if equal:
            save = os.path.join(folder, "first")
            run_pleat(a, tables, rows, batch, 0, path, "--save", save)
            load(model, save)
        lines, _ = run_pleat(a, tables, rows, batch, steps, path)
        losses, seconds = train_torch(a, model, data, batch, steps)
    ours = statistics.median(x["seconds"] for x in lines[2:])
    theirs = statistics.median(seconds[2:])
    apart = max(abs(x["loss"] - y) / abs(y) for x, y in zip(lines, losses, strict=True))
    print(
        f"{a.optimizer},{tables},{rows},{batch},{ours * 1e3:.3f},{theirs * 1e3:.3f},"
        f"{ours / theirs:.3f},{f'{apart:.1e}' if equal else ''}",
        flush=True,
    )
    return not equal or apart <= a.limit


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--pleat", default="build/pleat", help="the binary")
    p.add_argument("--steps", type=int, default=30)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--optimizer", default="adagrad", help="or sgd")
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--eps", type=float, default=1e-3, help="of Adagrad; see above")
    p.add_argument("--limit", type=float, default=1e-5, help="on relative differences of losses")
    p.add_argument("--seed", type=int, default=2, help="of the rows")
    p.add_argument("--folder", help="for the rows and weights; default: that of temporary files")
    p.add_argument("--hots", type=int, default=0, help="ids in a bag in the mean; 0: always one")
    p.add_argument("--bag", default="sum", help="or mean, max: of bags")
    p.add_argument("--stacked", action="store_true", help="tables stand in one in pleat; no --hots")
    p.add_argument("--only", help="TABLES,ROWS,BATCH: one case, of equal weights")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    warnings.filterwarnings("ignore", message="Sparse invariant checks")
    print("optimizer,tables,rows,batch,pleat_ms,torch_ms,ratio,largest_loss_difference", flush=True)
    if a.only:
        return 0 if compare(a, *(int(x) for x in a.only.split(",")), True) else 6
    ok = compare(a, 26, 10_000, 128, True)
    ok &= compare(a, 26, 10_000, 2048, True)
    for tables in (10, 100):
        ok &= compare(a, tables, 100_000, 128, True)
        ok &= compare(a, tables, 100_000, 2048, False)
    for rows in (3_200_000, 12_800_000, 51_200_000):
        ok &= compare(a, 1, rows, 2048, False)
    return 0 if ok else 6


if __name__ == "__main__":
    sys.exit(main())
