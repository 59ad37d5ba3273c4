#!/usr/bin/env python3
"""The largest batch of one device, by what does not stay in its memory: bench/batch.py > bench/batch.csv

DELTA (Tang et al., 2022; ACM TACO 2024) trains ResNet-50 and ResNet-101 with 2.04 and 2.25 times the
batch that fits, GPT2-Large and GPT2-XL with 5.5 and 6 times. Here each model and budget has a row
for each way to keep less: the largest batch whose plan fits, how many times the batch of the plan
that keeps all that is, and the seconds of a sample beside those of that plan. The row "auto" is what
auto finds at the batch that DELTA reaches. All is forecast.

PLEAT is the program (build/pleat)."""

import csv
import json
import math
import os
import subprocess
import sys

PLEAT = os.environ.get("PLEAT", "build/pleat")
WAYS = ["dp", "recompute=full", "offload=activations", "offload=all",
        "recompute=full,offload=all"]
# model, cluster, budget of the device, and the factor that DELTA has
ROWS = [("resnet50", "1x1xv100", "10GB", 2.04),
        ("resnet101", "1x1xv100", "16GB", 2.25),
        ("gpt2-large", "1x1xv100-32gb", "32GB", 5.5),
        ("gpt2-xl", "1x1xa100", "40GB", 6.0)]
COLUMNS = ["model", "cluster", "budget", "strategy", "batch", "times", "delta_times", "seconds",
           "sample_seconds", "slower", "host_bytes"]


def plan(model, cluster, budget, strategy, batch):
    """The plan's JSON, or None where it does not fit."""
    run = subprocess.run([PLEAT, "plan", model, "--batch", str(batch), "--cluster", cluster,
                          "--memory", budget, "--strategy", strategy, "--json"],
                         capture_output=True, text=True)
    if run.returncode not in (0, 5):
        sys.exit(f"{model} {strategy}: {run.stderr}")
    if run.returncode or not run.stdout:
        return None
    found = json.loads(run.stdout)
    memory = found["memory"]
    fits = (memory["peak_bytes"] <= memory["limit_bytes"]
            and memory["host_bytes"] <= memory["host_limit_bytes"])
    return found if fits else None


def largest(model, cluster, budget, strategy):
    """The largest batch that fits, and its plan; 0: none does."""
    low, high, best = 0, 1, None
    while (found := plan(model, cluster, budget, strategy, high)) and high < 1 << 14:
        low, high, best = high, 2 * high, found
    while high - low > max(1, low // 64):
        middle = (low + high) // 2
        if found := plan(model, cluster, budget, strategy, middle):
            low, best = middle, found
        else:
            high = middle
    return low, best


def figures(row, found, batch, base, alone):
    seconds = found["predicted"]["step_seconds"]
    each = seconds / batch
    row.update(batch=batch, times=f"{batch / base:.2f}", seconds=f"{seconds:.4f}",
               sample_seconds=f"{each:.6f}", slower=f"{each / (alone or each) - 1:.3f}",
               host_bytes=found["memory"]["host_bytes"])
    return each


def main():
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    for model, cluster, budget, delta in ROWS:
        base, alone = 0, 0.0
        for strategy in WAYS + ["auto"]:
            row = {"model": model, "cluster": cluster, "budget": budget, "strategy": strategy,
                   "batch": 0, "delta_times": delta}
            if strategy == "auto":
                batch = math.ceil(delta * base)
                found = plan(model, cluster, budget, "auto,micro=1", batch)
            else:
                batch, found = largest(model, cluster, budget, strategy)
            if found:
                base = base or batch
                each = figures(row, found, batch, base, alone)
                alone = alone or each
            out.writerow(row)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
