"""A recommender (DLRM) in pleat, PyTorch's nn.EmbeddingBag and TorchRec's fused tables, on a CPU.

All read the same rows of the same file in their order, begin with the weights that pleat wrote and
train with Adagrad (or SGD) in f32, as dlrm.py says; losses of every step are compared with pleat's.
Sides, each of which is a process of its own and takes turns with the others, --rounds times:

  pleat
  embedding-bag   an nn.EmbeddingBag(sparse=True) for each table
  torchrec        FusedEmbeddingBagCollection of all tables, of KeyedJaggedTensors
  fbgemm          the operator within, SplitTableBatchedEmbeddingBagsCodegen, ids laid out before

PyTorch's sides have each batch as tensors before the clock starts. `min_s` and `median_s` are of
all timed steps of all rounds, `cpu_s` the processor's time of a step on all threads at the median,
which others on the machine change less. `tables_s` is what the tables
alone take in a step: look-ups, their gradients, and the update. In PyTorch that is measured in a
loop of its own, in pleat it is what --trace says of a step's operators; of the medians of the
rounds the least. Ratios are pleat / side: below 1 pleat is faster. Rows are added to --out. Exit
status 6 when losses are further apart than --limit.

The rows of --seed 3, the default, keep all inputs of ReLUs away from 0 in these cases. With seed 2
one is 0 but for rounding in step 10 of 10x100k-2048, and losses of both sides move away from those
of f64 there, PyTorch's by 5e-6 and pleat's by 1.5e-5 two steps later.
"""

import argparse
import csv
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch

import dlrm
import gan_step
import pleat
from gan_step import follow, told, write
from speed import KEEP_MEMORY
from step import peak_mib

EMBED = dlrm.KEYS["embed"]
SMALL = {"bottom": "16", "top": "16"}
# name: tables, rows of each, rows of a batch, widths of the MLPs if others than of dlrm.py
CASES = {
    "26x10k-128": (26, 10_000, 128, {}),
    "26x10k-2048": (26, 10_000, 2048, {}),
    "10x100k-128": (10, 100_000, 128, {}),
    "10x100k-2048": (10, 100_000, 2048, {}),
    "100x100k-128": (100, 100_000, 128, {}),
    "100x100k-2048": (100, 100_000, 2048, {}),
    "1x3.2m-2048": (1, 3_200_000, 2048, SMALL),
    "1x51.2m-2048": (1, 51_200_000, 2048, SMALL),
}
MANY_ROWS = 3_200_000
SIDES = "pleat", "embedding-bag", "torchrec", "fbgemm"
# What pleat does with tables, as --trace names it.
OF_TABLES = "unique", "embedding", "coalesce", "adagrad_rows", "sgd_rows"
COLUMNS = (
    "date cpu cores load case tables rows batch bottom top optimizer threads side steps_timed "
    "min_s median_s cpu_s tables_s peak_mib imported_mib min_ratio median_ratio cpu_ratio "
    "tables_ratio largest_loss_difference steps_compared version command"
).split()


# -- PyTorch ---------------------------------------------------------------------------------------


class FusedDlrm(dlrm.Dlrm):
    """All tables are one operator, which updates them in the backward pass."""

    def __init__(self, a, *sizes, **mlps):
        self.how = a  # before the rest, since that calls make_tables
        super().__init__(*sizes, **mlps)

    def make_tables(self, tables, rows, embed, mode):
        if self.how.child == "torchrec":
            return self.make_collection(tables, rows, embed)
        from fbgemm_gpu import split_table_batched_embeddings_ops_training as fbgemm
        from fbgemm_gpu.split_embedding_configs import EmbOptimType

        adagrad = self.how.optimizer == "adagrad"
        table = (rows, embed, fbgemm.EmbeddingLocation.HOST, fbgemm.ComputeDevice.CPU)
        return fbgemm.SplitTableBatchedEmbeddingBagsCodegen(
            [table] * tables,
            optimizer=EmbOptimType.EXACT_ADAGRAD if adagrad else EmbOptimType.EXACT_SGD,
            learning_rate=self.how.lr,
            **({"eps": self.how.eps} if adagrad else {}),
        )

    def make_collection(self, tables, rows, embed):
        from torchrec.modules.embedding_configs import EmbeddingBagConfig
        from torchrec.modules.fused_embedding_modules import FusedEmbeddingBagCollection

        adagrad = self.how.optimizer == "adagrad"
        return FusedEmbeddingBagCollection(
            [
                EmbeddingBagConfig(
                    name=x, embedding_dim=embed, num_embeddings=rows, feature_names=[x]
                )
                for x in (f"cat_{i}" for i in range(tables))
            ],
            optimizer_type=torch.optim.Adagrad if adagrad else torch.optim.SGD,
            optimizer_kwargs={"lr": self.how.lr, **({"eps": self.how.eps} if adagrad else {})},
        )

    def weights(self):
        """The rows of each table, in place."""
        if self.how.child == "torchrec":
            return [m.weight for m in self.emb_l.embedding_bags.values()]
        return self.emb_l.split_embedding_weights()

    def look_up(self, bags):
        got = self.emb_l(*bags)
        return got.values() if self.how.child == "torchrec" else got

    def stack(self, x, bags):
        return torch.cat([x.unsqueeze(1), self.look_up(bags).view(len(x), -1, EMBED)], 1)


def make_bags(side, data, at):
    """The ids of a batch, as a side takes them."""
    n_tables = sum(k[4:].isdigit() for k in data)
    ids = [torch.from_numpy(data[f"cat_{i}"][at]) for i in range(n_tables)]
    batch = at.stop - at.start
    if side == "embedding-bag":
        return [(x.long(), torch.arange(batch)) for x in ids]
    if side == "fbgemm":
        return torch.cat(ids).long(), torch.arange(n_tables * batch + 1)
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

    keys = [f"cat_{i}" for i in range(n_tables)]
    lengths = torch.ones(n_tables * batch, dtype=torch.int32)
    return (KeyedJaggedTensor.from_lengths_sync(keys, torch.cat(ids), lengths),)


def load(model, folder):
    (file,) = glob.glob(f"{folder}/first/*.safetensors")
    have = safetensors.torch.load_file(file)
    if not isinstance(model, FusedDlrm):
        model.load_state_dict({k: have[k] for k in model.state_dict()})
        return
    for name, mlp in (("bot_l", model.bot_l), ("top_l", model.top_l)):
        mlp.load_state_dict({k: have[f"{name}.{k}"] for k in mlp.state_dict()})
    with torch.no_grad():
        for i, to in enumerate(model.weights()):
            to.copy_(have[f"emb_l.{i}.weight"])


def tables_alone(a, model, optimizer, batches):
    """Seconds of steps in which there is nothing but tables, and a gradient that is given."""
    seconds, fused = [], isinstance(model, FusedDlrm)
    for bags in batches:
        n = 1 if fused else len(bags)
        given = [torch.full((a.batch, EMBED * (a.tables if fused else 1)), 1e-3)] * n
        start = time.perf_counter()
        got = [model.look_up(bags)] if fused else [e(*x) for e, x in zip(model.emb_l, bags)]
        optimizer.zero_grad()
        torch.autograd.backward(got, given)
        optimizer.step()  # passes over what has no gradient: the MLPs
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[a.drop :])


def torch_side(a):
    warnings.filterwarnings("ignore", message="Sparse invariant checks")
    torch.set_num_threads(a.threads)
    a.tables, rows, a.batch, mlps = CASES[a.cases[0]]
    if a.child != "embedding-bag":
        import fbgemm_gpu  # noqa: F401 loads the operators
    if a.child == "torchrec":
        import torchrec  # noqa: F401
    imported = peak_mib()
    fused = a.child != "embedding-bag"
    how = (a,) if fused else ()
    model = (FusedDlrm if fused else dlrm.Dlrm)(*how, a.tables, rows, EMBED, "sum", **mlps)
    if os.path.exists(f"{a.folder}/first"):
        load(model, a.folder)
    inside = [p for k, p in model.named_parameters() if not (fused and k.startswith("emb_l"))]
    optimizer = dlrm.make_optimizer(a, inside)
    data = safetensors.numpy.load_file(f"{a.folder}/rows.safetensors")
    slices = [slice(i * a.batch, (i + 1) * a.batch) for i in range(2 * a.steps)]
    dense, label = (torch.from_numpy(data[k].astype(np.float32)) for k in ("dense", "label"))
    bags = [make_bags(a.child, data, at) for at in slices]
    for step in range(a.steps):
        start = time.perf_counter()
        loss = model(dense[slices[step]], bags[step], label[slices[step]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        row = {"step": step, "loss": loss.item(), "seconds": time.perf_counter() - start}
        print(json.dumps(row), flush=True)
    peak = peak_mib()
    alone = tables_alone(a, model, optimizer, bags[a.steps :])
    about = {"torch": torch.__version__, "imported": imported, "peak": peak, "tables": alone}
    print(json.dumps(about), flush=True)


# -- both ------------------------------------------------------------------------------------------


def command_of(side, case, steps, folder, a):
    tables, rows, batch, mlps = CASES[case]
    if side == "pleat":
        return dlrm.command(a, tables, rows, batch, steps, f"{folder}/rows.safetensors", **mlps)
    c = [sys.executable, os.path.abspath(__file__), case, "--child", side, "--folder", folder]
    for k in ("threads", "optimizer", "lr", "eps", "drop"):
        c += [f"--{k}", str(getattr(a, k))]
    return c + ["--steps", str(steps)]


def pleat_tables(case, folder, a):
    """Seconds of a step on tables: the last of a run, as --trace tells; of five runs the median.
    One where rows are many, since each run draws them."""
    seconds, trace = [], f"{folder}/trace.json"
    for _ in range(5 if CASES[case][1] <= MANY_ROWS else 1):
        command = command_of("pleat", case, a.drop + 1, folder, a) + ["--trace", trace]
        subprocess.run(command, capture_output=True, check=True)
        with open(trace) as f:
            events = [x for x in json.load(f)["traceEvents"] if x.get("ph") == "X"]
        of = [x["dur"] for x in events if x["args"].get("operator") in OF_TABLES]
        assert of, "the trace has no operators of tables"
        seconds.append(sum(of) * 1e-6)
    return statistics.median(seconds)


def run(side, case, folder, a, all_of):
    """One process, of pleat a few; adds the figures to all_of[side]."""
    env = {"OMP_NUM_THREADS": str(a.threads), **(KEEP_MEMORY if side != "pleat" else {})}
    steps = a.drop + a.steps
    command = command_of(side, case, steps, folder, a)
    lines = follow(command, env)
    each = [x for x in lines if "cpu" in x]
    nothing = {"seconds": [], "cpu": [], "tables": [], "peak": 0, "imported": 0}
    got = all_of.setdefault(side, {**nothing, "version": a.version})
    got["seconds"] += [x["seconds"] for x in each][a.drop :]
    cpu = [x["cpu"] for x in each][a.drop - 1 :]
    got["cpu"] += [y - x for x, y in zip(cpu, cpu[1:]) if y > x]
    got["losses"] = [x["loss"] for x in each]
    got["command"] = told(env, command, folder)
    if side == "pleat":
        got["peak"] = max(got["peak"], each[-1]["peak"])
        got["tables"].append(pleat_tables(case, folder, a))
    else:
        about = lines[-1]
        got["version"], got["imported"] = about["torch"], about["imported"]
        got["peak"] = max(got["peak"], about["peak"])
        got["tables"].append(about["tables"])
    recent = (got[k][-a.steps :] for k in ("seconds", "cpu", "tables"))
    listed = [" ".join(f"{x:.4f}" for x in of) for of in recent]
    print(f"  {case}, {side}: {'; '.join(listed)}", file=sys.stderr, flush=True)


def figures(got):
    return {
        "min": min(got["seconds"]),
        "median": statistics.median(got["seconds"]),
        "cpu": statistics.median(got["cpu"]),
        "tables": min(got["tables"]),
    }


def rows_of(case, all_of, equal, a, load):
    tables, rows, batch, mlps = CASES[case]
    base = all_of["pleat"]
    for side, got in all_of.items():
        f = figures(got)
        row = {
            **gan_step.where(case, load),
            "tables": tables,
            "rows": rows,
            "batch": batch,
            **{k: {**dlrm.KEYS, **mlps}[k] for k in ("bottom", "top")},
            "optimizer": a.optimizer,
            "threads": a.threads,
            "side": side,
            "steps_timed": len(got["seconds"]),
            **{f"{k}_s": f"{x:.6f}" for k, x in f.items()},
            "peak_mib": f"{got['peak']:.0f}",
            "imported_mib": f"{got['imported']:.0f}",
            "version": got["version"],
            "command": got["command"],
        }
        if side != "pleat":
            row |= {f"{k}_ratio": f"{x / f[k]:.3f}" for k, x in figures(base).items()}
        if side != "pleat" and equal:
            both = zip(base["losses"], got["losses"], strict=True)
            row["largest_loss_difference"] = f"{max(abs(x - y) / abs(y) for x, y in both):.1e}"
            row["steps_compared"] = len(base["losses"])
        yield row


def compare(case, a):
    tables, rows, batch, _ = CASES[case]
    equal = rows <= MANY_ROWS  # else weights are drawn on each side: their file would be 3 GiB
    all_of, load = {}, os.getloadavg()[0]
    steps = a.drop + a.steps
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        n = 2 * steps * batch + 1000  # twice: training, and tables alone; some to validate
        dlrm.make_rows(a, f"{folder}/rows.safetensors", tables, rows, n)
        if equal:
            pleat.run(command_of("pleat", case, 0, folder, a) + ["--save", f"{folder}/first"])
        for _ in range(a.rounds):
            for side in a.sides.split(","):
                run(side, case, folder, a, all_of)
    out = list(rows_of(case, all_of, equal, a, load))
    write(a.out, out, COLUMNS)
    for row in out:
        print(" ".join(f"{k}={row[k]}" for k in COLUMNS[4:-2] if k in row), flush=True)
    return all(float(r.get("largest_loss_difference", 0)) <= a.limit for r in out)


def main():
    out = "bench/torchrec_step.csv"
    p = gan_step.parser(__doc__, CASES, SIDES, out, rounds=3, steps=20, drop=3)
    p.add_argument("--optimizer", default="adagrad", help="or sgd")
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--eps", type=float, default=1e-3, help="of Adagrad; dlrm.py says why so large")
    p.add_argument("--seed", type=int, default=3, help="of the rows")
    p.add_argument("--child", help=argparse.SUPPRESS)
    a = p.parse_args()
    gan_step.check(p, a, CASES, SIDES)
    a.hots, a.stacked = 0, False
    return torch_side(a) if a.child else gan_step.compare_all(a, CASES, compare)


if __name__ == "__main__":
    sys.exit(main())
