"""Networks that train against each other, and shared experts: pleat beside PyTorch.

pleat writes its initial weights; PyTorch loads them (nets.py), reads the same pictures in the same
order and the same random numbers, and takes the same steps: both objectives of a GAN by the weights
that the step begins with, of one judgement of the made pictures. All is f32 on both sides. Losses
of every step are compared, relative to the loss, or to 1 where that is more; seconds are those of a
step, the first ones left out, the sides taking turns; a GAN one of whose objectives rests is timed
over whole rounds of both. `cpu_s` is the processor's time of a step on all threads, which others on
the machine change less. Ratios are pleat / PyTorch: below 1 pleat is better. peak_mib is the most
that the process had resident, imported_mib what `import torch` takes of it.
Rows are added to --out. Exit status 6 when losses are further apart than --limit.
"""

import argparse
import csv
import datetime
import glob
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import safetensors
import safetensors.numpy
import torch

import nets
import pleat
from speed import KEEP_MEMORY, cpu_name

ADAM = {"lr": 1e-5, "lr-schedule": "constant", "seed": 1}
BETAS = {"beta1": 0.9, "beta2": 0.99}
ADAMW = {**ADAM, **BETAS, "lr": 1e-3, "optimizer": "adamw", "decay": 0.1, "clip": 0}
SMALL = {"layers": 4, "hidden": 96, "ffn": 384, "heads": 4, "size": 32, "patch": 4, "classes": 10}
QUIET = {"noise": 0, "dropout": 0}  # what is drawn within the network is not drawn alike
# Adam's first steps are lr g / (|g| + eps): where g is 0 but for rounding, the usual eps of 1e-8
# makes a whole step of that, and after ten steps PyTorch in f32 is 1e-3 from PyTorch in f64. So eps
# is large here and the rate low. Training still shows: not to update at all moves the losses of
# dcgan-small by 1e-2 in twelve steps.
EPS, RATE = 1e-2, 0.2  # of both objectives; the rate is times --lr


def objectives(beta1, beta2, every):
    how = f"optimizer=adam,rate={RATE},beta1={beta1},beta2={beta2},eps={EPS},decay=0,clip=0"
    return {**ADAM, "objectives": f"generator:every={every},{how};discriminator:{how}"}


DCGAN, SNGAN = (0.5, 0.999, 1), (0.0, 0.9, 5)
# name, sizes, options of pleat, and of a GAN: beta1, beta2, in which steps the generator trains
CASES = {
    "dcgan-small": ("dcgan", {"size": 32, "width": 32, "batch": 32}, objectives(*DCGAN), DCGAN),
    "dcgan": ("dcgan", {"batch": 64}, objectives(*DCGAN), DCGAN),
    "sngan-small": ("sngan", {"width": 16, "judge": 8, "batch": 16}, objectives(*SNGAN), SNGAN),
    "sngan-16": ("sngan", {"batch": 16}, objectives(*SNGAN), SNGAN),
    "sngan": ("sngan", {"batch": 64}, objectives(*SNGAN), SNGAN),
    "widenet-small": ("widenet-b", {**SMALL, **QUIET, "batch": 16}, ADAMW, None),
    "widenet-block": ("widenet-b", {**QUIET, "layers": 2, "batch": 4}, ADAMW, None),
}
DRAWN = {"dcgan": 100, "sngan": 128}  # numbers for a picture
SIZE = {"dcgan": 64, "sngan": 32, "widenet-b": 224}
SIDES = {"pleat": None, "torch-tuned": ["--tuned"], "torch-stock": []}
GAN_LOSSES = ("loss_discriminator", "loss_generator")
COLUMNS = (
    "date cpu cores load case threads side steps_timed min_s median_s cpu_s peak_mib imported_mib "
    "min_ratio median_ratio cpu_ratio peak_ratio largest_loss_difference steps_compared version "
    "command"
).split()


# -- one side: PyTorch -----------------------------------------------------------------------------


def load(model, folder):
    """All parameters and buffers, but for what PyTorch counts. W of an SNGAN has a state W.u."""
    (path,) = glob.glob(f"{folder}/first/*.safetensors")
    have = safetensors.numpy.load_file(path)
    with torch.no_grad():
        for key, to in model.state_dict().items():
            if key.endswith("num_batches_tracked"):
                continue
            key = key.removesuffix(".u") + ".weight.u" if key.endswith(".u") else key
            to.copy_(torch.from_numpy(have[key]).view(to.shape))


def drawn(seed, step, rows, z):
    """Random numbers of a step, as src/ops/draw_normal.c draws them (Box-Muller)."""
    blocks = np.arange((rows * z + 3) // 4)
    words = pleat.philox(pleat.mix(seed, step) >> 1, 1, blocks).reshape(-1, 2)
    radius = np.sqrt(-2 * np.log((words[:, 0].astype(np.float64) + 1) * 2.0**-32))
    angle = 2 * np.pi * words[:, 1].astype(np.float64) * 2.0**-32
    both = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)
    return torch.from_numpy(both[: rows * z].reshape(rows, z).astype(np.float32))


def gan_losses(model, real, made):
    model.prepare()
    of_real, of_made = model.judge(real), model.judge(made)
    if model.hinge:
        return (1 - of_real).relu().mean() + (1 + of_made).relu().mean(), -of_made.mean()
    soft = torch.nn.functional.softplus
    return soft(-of_real).mean() + soft(of_made).mean(), soft(-of_made).mean()


def train_gan(model, optimizers, every, real, z, step):
    trains = step % every == 0
    with torch.set_grad_enabled(trains):
        made = model.make(z)
    d, g = gan_losses(model, real, made)
    nets_of = {"generator": g, "discriminator": d} if trains else {"discriminator": d}
    for i, (name, loss) in enumerate(nets_of.items()):
        weights = list(getattr(model, name).parameters())
        more = i + 1 < len(nets_of)
        for w, grad in zip(weights, torch.autograd.grad(loss, weights, retain_graph=more)):
            w.grad = grad
    for name in nets_of:
        optimizers[name].step()
        optimizers[name].zero_grad()
    return {f"loss_{k}": v.item() for k, v in nets_of.items()}


def train_one(model, optimizer, image, label):
    loss = model(image, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item()}


def make_optimizers(model, gan, a):
    how = {"fused": True} if a.tuned else {}
    if gan:
        how |= {"lr": ADAM["lr"] * RATE, "betas": gan[:2], "eps": EPS}
        both = ("generator", "discriminator")
        return {name: torch.optim.Adam(getattr(model, name).parameters(), **how) for name in both}
    groups = [
        {"params": [p for p in model.parameters() if (p.dim() > 1) == decays], "weight_decay": by}
        for decays, by in ((True, ADAMW["decay"]), (False, 0.0))
    ]
    return torch.optim.AdamW(groups, lr=ADAMW["lr"], betas=(ADAMW["beta1"], ADAMW["beta2"]), **how)


def peak_mib(pid="self"):
    with open(f"/proc/{pid}/status") as f:
        (line,) = [x for x in f if x.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def torch_side(a):
    """One JSON line per step."""
    imported = peak_mib()
    name, keys, s, gan = CASES[a.cases[0]]
    torch.set_num_threads(a.threads)
    torch.set_flush_denormal(a.tuned)
    model = nets.make(name, keys)
    load(model, a.folder)
    layout = torch.channels_last if a.tuned else torch.contiguous_format
    model = model.to(memory_format=layout)
    optimizers = make_optimizers(model, gan, a)
    with safetensors.safe_open(f"{a.folder}/rows.safetensors", "pt") as f:
        rows = {k: f.get_slice(k) for k in f.keys()}
        for step in range(a.steps):
            at = slice(step * keys["batch"], (step + 1) * keys["batch"])
            image = rows["image"][at].permute(0, 3, 1, 2).contiguous(memory_format=layout)
            if gan:
                more = drawn(s["seed"], step, keys["batch"], DRAWN[name])
            else:
                more = rows["label"][at].long()
            start = time.perf_counter()
            if gan:
                losses = train_gan(model, optimizers, gan[2], image, more, step)
            else:
                losses = train_one(model, optimizers, image, more)
            print(json.dumps({**losses, "seconds": time.perf_counter() - start}), flush=True)
    print(json.dumps({"torch": torch.__version__, "imported": imported}))


# -- both ------------------------------------------------------------------------------------------


def command_of(side, case, steps, folder, a):
    name, keys, s, _ = CASES[case]
    if side == "pleat":
        rows = f"{folder}/rows.safetensors"
        more = ["--data-order", "file", "--train-share", "0.999", "--timings"]
        return pleat.command(a.pleat, name, keys, rows, {**s, "steps": steps}, a.threads, *more)
    how = ["--child", "--folder", folder, "--threads", str(a.threads), "--steps", str(steps)]
    return [sys.executable, os.path.abspath(__file__), case, *how, *SIDES[side]]


def make_rows(case, steps, folder):
    """Rows of `steps` batches."""
    name, keys, _, gan = CASES[case]
    size, n, draw = keys.get("size", SIZE[name]), steps * keys["batch"], np.random.default_rng(2)
    rows = {"image": draw.random((n, size, size, 3), np.float32) * 2 - 1}
    if not gan:
        rows["label"] = draw.integers(0, keys.get("classes", 1000), n).astype(np.int32)
    safetensors.numpy.save_file(rows, f"{folder}/rows.safetensors")


def told(env, command, folder):
    """The command as a reader would repeat it: without the paths of this machine."""
    short = [x.replace(folder, "FOLDER") for x in command]
    short = [os.path.basename(x) if os.path.isabs(x) or i == 0 else x for i, x in enumerate(short)]
    return " ".join([*(f"{k}={v}" for k, v in env.items()), shlex.join(short)])


def look(pid, before):
    """Seconds of processors that all threads of a process have had, and its peak resident MiB; what
    was seen before, where it is over: that may be while the last line is read."""
    seconds = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat") as f:
                seconds += int(f.read().split()[0]) * 1e-9
        return seconds, peak_mib(pid)
    except (OSError, ValueError):
        return before


def follow(command, env):
    """The JSON lines of a process, each with what look() saw when it came."""
    lines, seen = [], (0, 0)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **env},
                          stderr=subprocess.DEVNULL) as p:
        for line in p.stdout:
            if line.startswith("{"):
                lines.append(json.loads(line))
                if "seconds" in lines[-1] and "done" not in lines[-1]:
                    seen = look(p.pid, seen)
                    lines[-1]["cpu"], lines[-1]["peak"] = seen
    if p.returncode:
        raise SystemExit(f"{' '.join(command)}\nfailed with {p.returncode}")
    return lines


def run(side, case, folder, a, all_of):
    """One process; adds its figures to all_of[side]."""
    env = {"OMP_NUM_THREADS": str(a.threads), **(KEEP_MEMORY if side == "torch-tuned" else {})}
    gan = CASES[case][3]
    period = gan[2] if gan else 1
    drop = -(-a.drop // period) * period
    steps = -(-a.steps // period) * period
    command = command_of(side, case, drop + steps, folder, a)
    lines = follow(command, env)
    each = [x for x in lines if "cpu" in x]
    seconds = [x["seconds"] for x in each][drop:]
    nothing = {"seconds": [], "cpu": [], "peak": 0, "imported": 0, "version": a.version}
    got = all_of.setdefault(side, nothing)
    got["seconds"] += [sum(seconds[i : i + period]) / period for i in range(0, steps, period)]
    cpu = [x["cpu"] for x in each][drop - 1 :]
    rounds = [(cpu[i + period] - cpu[i]) / period for i in range(0, steps, period)]
    got["cpu"] += [x for x in rounds if x > 0]
    got["peak"] = max(got["peak"], each[-1]["peak"])
    got["command"] = told(env, command, folder)
    got["losses"] = [x.get(k) for x in each for k in (GAN_LOSSES if gan else ["loss"])]
    if side != "pleat":
        got["version"], got["imported"] = lines[-1]["torch"], lines[-1]["imported"]
    listed = [" ".join(f"{x:.4f}" for x in got[k]) for k in ("seconds", "cpu")]
    print(f"  {case}, {side}: {listed[0]} s, cpu {listed[1]} s", file=sys.stderr, flush=True)


def differences(x, y):
    assert [a is None for a in x] == [b is None for b in y], "the sides rest in different steps"
    return [abs(a - b) / max(abs(b), 1) for a, b in zip(x, y, strict=True) if a is not None]


def figures(got):
    cpu, middle = statistics.median(got["cpu"]), statistics.median(got["seconds"])
    return {"min": min(got["seconds"]), "median": middle, "cpu": cpu, "peak": got["peak"]}


def where(case, load):
    """The first columns of a row."""
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "load": f"{load:.1f}",
        "case": case,
    }


def rows_of(case, all_of, a, load):
    base = all_of["pleat"]
    for side, got in all_of.items():
        f = figures(got)
        row = {
            **where(case, load),
            "threads": a.threads,
            "side": side,
            "steps_timed": len(got["seconds"]),
            **{f"{k}_s": f"{f[k]:.4f}" for k in ("min", "median", "cpu")},
            "peak_mib": f"{f['peak']:.0f}",
            "imported_mib": f"{got['imported']:.0f}",
            "version": got["version"],
            "command": got["command"],
        }
        if side != "pleat":
            apart = differences(base["losses"], got["losses"])
            row |= {f"{k}_ratio": f"{x / f[k]:.3f}" for k, x in figures(base).items()}
            row["largest_loss_difference"] = f"{max(apart):.1e}"
            row["steps_compared"] = len(base["losses"]) // (2 if CASES[case][3] else 1)
        yield row


def write(path, rows, columns=COLUMNS):
    new = not os.path.exists(path)
    with open(path, "a", newline="") as f:
        w = csv.DictWriter(f, columns, lineterminator="\n")
        if new:
            w.writeheader()
        w.writerows(rows)


def compare(case, a):
    all_of, load = {}, os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        make_rows(case, a.steps + a.drop + 10, folder)  # whole rounds, and some to validate
        pleat.run(command_of("pleat", case, 0, folder, a) + ["--save", f"{folder}/first"])
        for _ in range(a.rounds):
            for side in a.sides.split(","):
                run(side, case, folder, a, all_of)
    rows = list(rows_of(case, all_of, a, load))
    write(a.out, rows)
    for row in rows:
        print(" ".join(f"{k}={row[k]}" for k in COLUMNS[4:-2] if k in row), flush=True)
    return all(float(r.get("largest_loss_difference", 0)) <= a.limit for r in rows)


def parser(about, cases, sides, out, rounds, steps, drop):
    """The options of a comparison, with their usual values."""
    p = argparse.ArgumentParser(description=about, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("cases", nargs="*", metavar="CASE", help=f"of: {', '.join(cases)}; default: all")
    p.add_argument("--pleat", default="build/pleat", help="the binary")
    p.add_argument("--sides", default=",".join(sides), help="of these; pleat first")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=rounds, help="of each side")
    p.add_argument("--steps", type=int, default=steps, help="timed steps")
    p.add_argument("--drop", type=int, default=drop, help="steps before them")
    p.add_argument("--limit", type=float, default=1e-5, help="on relative differences of losses")
    p.add_argument("--folder", help="for rows and weights; default: that of temporary files")
    p.add_argument("--out", default=out)
    return p


def check(p, a, cases, sides):
    wrong = [x for x in a.cases if x not in cases]
    wrong += [x for x in a.sides.split(",") if x not in sides]
    if wrong:
        p.error(f"unknown: {', '.join(wrong)}")


def compare_all(a, cases, compare):
    """The exit status."""
    a.version = pleat.version(a.pleat)
    ok = [compare(case, a) for case in a.cases or cases]
    return 0 if all(ok) else 6


def main():
    p = parser(__doc__, CASES, SIDES, "bench/gan_step.csv", rounds=2, steps=10, drop=2)
    p.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--tuned", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    check(p, a, CASES, SIDES)
    return torch_side(a) if a.child else compare_all(a, CASES, compare)


if __name__ == "__main__":
    sys.exit(main())
