"""Seconds per training step and peak memory: pleat against PyTorch on the same cores.

Every measurement is a process of its own; the sides take turns, `--rounds` times, so that a slow
spell of the machine meets all of them. The first steps of each process are dropped (first touch of
memory, choice of kernels); of all others the least and the median are kept. Ratios are
PyTorch / pleat: above 1, pleat is faster or smaller. Results are printed and appended to --out.
"""

import argparse
import csv
import datetime
import json
import os
import platform
import shlex
import statistics
import sys

import pleat

CASES = {
    "gpt2": (
        "gpt2",
        {
            "layers": 12,
            "hidden": 768,
            "heads": 12,
            "vocab": 50257,
            "seq": 128,
            "batch": 4,
            "dropout": 0,
        },
        "adamw",
    ),
    "gpt2-1024": (
        "gpt2",
        {
            "layers": 12,
            "hidden": 768,
            "heads": 12,
            "vocab": 50257,
            "seq": 1024,
            "batch": 1,
            "dropout": 0,
        },
        "adamw",
    ),
    "resnet50": ("resnet50", {"size": 224, "batch": 16}, "sgd"),
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
        "adamw",
    ),
    "resnet50-tiny": ("resnet50", {"size": 64, "batch": 4}, "sgd"),
}

# Without these glibc maps and unmaps every large tensor: each step pays for its page faults anew.
KEEP_MEMORY = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=17179869184:"
    "glibc.malloc.trim_threshold=34359738368"
}

SIDES = {
    "pleat": None,
    "torch-tuned": ["--tuned"],
    "torch-stock": [],
    "torch-compile": ["--tuned", "--compile"],
}

COLUMNS = [
    "date",
    "cpu",
    "cores",
    "load",
    "case",
    "threads",
    "side",
    "steps_timed",
    "min_s",
    "median_s",
    "peak_mib",
    "imported_mib",
    "min_ratio",
    "median_ratio",
    "peak_ratio",
    "gflops_least",
    "gflops_most",
    "version",
    "command",
]


def cpu_name():
    with open("/proc/cpuinfo") as f:
        names = [line.split(":")[1].strip() for line in f if line.startswith("model name")]
    return names[0] if names else platform.processor()


def command_of(side, case, threads, a):
    name, keys, optimizer = CASES[case]
    if side != "pleat":
        step = os.path.join(os.path.dirname(os.path.abspath(__file__)), "step.py")
        return [
            sys.executable,
            step,
            name,
            json.dumps(keys),
            "--threads",
            str(threads),
            "--steps",
            str(a.drop + a.steps),
            "--optimizer",
            optimizer,
            *SIDES[side],
        ]
    s = {**pleat.SETTINGS, "steps": a.drop + a.steps, "clip": 0, "optimizer": optimizer}
    return pleat.command(a.pleat, name, keys, "synthetic", s, threads, "--timings")


def told(env, command):
    """The command as a reader would repeat it: without the paths of this machine."""
    short = [
        os.path.basename(x) if os.path.isabs(x) or i == 0 else x for i, x in enumerate(command)
    ]
    return " ".join([*(f"{k}={v}" for k, v in env.items()), shlex.join(short)])


def run(side, case, threads, a, all_of):
    """One process; adds its figures to all_of[side]."""
    env = {"OMP_NUM_THREADS": str(threads)}
    if side in ("torch-tuned", "torch-compile"):
        env.update(KEEP_MEMORY)
    command = command_of(side, case, threads, a)
    lines, peak = pleat.run(command, env)
    seconds = [x["seconds"] for x in lines if "seconds" in x and "done" not in x][a.drop :]
    about = lines[-1] if "gflops" in lines[-1] else {}
    got = all_of.setdefault(
        side, {"seconds": [], "peak": 0, "imported": 0, "gflops": [], "version": ""}
    )
    got["command"] = told(env, command)
    got["seconds"] += seconds
    got["peak"] = max(got["peak"], about.get("peak_mib", peak))
    got["imported"] = about.get("imported_mib", 0)
    got["gflops"] += [about["gflops"]] if about else []
    got["version"] = about.get("torch", a.version)
    print(
        f"  {case} {threads} threads, {side}: {' '.join(f'{x:.3f}' for x in seconds)} s, "
        f"{peak:.0f} MiB" + (f", matrix product {about['gflops']:.0f} GF/s" if about else ""),
        file=sys.stderr,
        flush=True,
    )


def rows_of(case, threads, all_of, load):
    fixed = {
        "date": datetime.date.today().isoformat(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "case": case,
        "threads": threads,
        "load": f"{load:.1f}",
    }
    gflops = [
        x for got in all_of.values() for x in got["gflops"]
    ]  # of the machine, so on every row
    if gflops:
        fixed.update(gflops_least=f"{min(gflops):.0f}", gflops_most=f"{max(gflops):.0f}")
    base = all_of.get("pleat")
    for side, got in all_of.items():
        least, middle = min(got["seconds"]), statistics.median(got["seconds"])
        row = {
            **fixed,
            "side": side,
            "steps_timed": len(got["seconds"]),
            "min_s": f"{least:.4f}",
            "median_s": f"{middle:.4f}",
            "peak_mib": f"{got['peak']:.0f}",
            "imported_mib": f"{got['imported']:.0f}",
            "version": got["version"],
            "command": got["command"],
        }
        if base:
            row["min_ratio"] = f"{least / min(base['seconds']):.2f}"
            row["median_ratio"] = f"{middle / statistics.median(base['seconds']):.2f}"
            row["peak_ratio"] = f"{got['peak'] / base['peak']:.2f}"
        yield row


def write(path, rows):
    new = not os.path.exists(path)
    with open(path, "a", newline="") as f:
        w = csv.DictWriter(f, COLUMNS, lineterminator="\n")
        if new:
            w.writeheader()
        w.writerows(rows)


def show(rows):
    shown = [
        "case",
        "threads",
        "side",
        "min_s",
        "median_s",
        "peak_mib",
        "imported_mib",
        "min_ratio",
        "median_ratio",
        "peak_ratio",
        "gflops_least",
        "gflops_most",
    ]
    table = [shown] + [[str(r.get(c, "")) for c in shown] for r in rows]
    width = [max(len(line[i]) for line in table) for i in range(len(shown))]
    for line in table:
        print("  ".join(x.ljust(w) for x, w in zip(line, width)).rstrip())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"of: {', '.join(CASES)}; default: the first two"
    )
    p.add_argument("--pleat", default="build/pleat", help="the binary")
    p.add_argument(
        "--sides", default="pleat,torch-tuned,torch-stock", help=f"of: {', '.join(SIDES)}"
    )
    p.add_argument("--threads", default="1,2", help="each of these")
    p.add_argument("--rounds", type=int, default=3, help="processes per side")
    p.add_argument("--steps", type=int, default=4, help="timed steps per process")
    p.add_argument("--drop", type=int, default=2, help="steps before them")
    p.add_argument("--out", default="bench/results.csv")
    a = p.parse_args()
    cases, sides = a.cases or ["gpt2", "resnet50"], a.sides.split(",")
    wrong = [x for x in cases if x not in CASES] + [x for x in sides if x not in SIDES]
    if wrong:
        p.error(f"unknown: {', '.join(wrong)}")
    a.version = pleat.version(a.pleat)
    for case in cases:
        for threads in map(int, a.threads.split(",")):
            all_of, load = {}, os.getloadavg()[0]
            for _ in range(a.rounds):
                for side in sides:
                    run(side, case, threads, a, all_of)
            rows = list(rows_of(case, threads, all_of, load))
            write(a.out, rows)
            show(rows)


if __name__ == "__main__":
    main()
