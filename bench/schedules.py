#!/usr/bin/env python3
"""Pipeline schedules beside those of Qi et al.: bench/schedules.py [PLEAT] > bench/schedules.csv

A row per published figure (schedules/published.csv): 21 cases of ranks, micro-batches and measured times in
microseconds; of 1f1b, H1 and H2 the figures that sail-sg/zero-bubble-pipeline-parallelism (branch arxiv) prints, of
`search` what its auto_schedule.py finds where a rank may hold k p micro-batches: for the nine cases of the arXiv version
from its file mem2bubble.npy, for the twelve of the ICLR version from running it. `bubble` is the share of a step that a
rank waits, counted from its own first pass but for 1f1b; `bound` that of the fastest schedule that could be. Both are
computed, the same on any machine, and `gap` is (step - bound) / step; took_s is that of the whole command."""
import csv
import json
import pathlib
import subprocess
import sys
import time

here = pathlib.Path(__file__).parent
pleat = sys.argv[1] if len(sys.argv) > 1 else str(here.parent / "build/release/pleat")


def measure(row):
    hidden, heads = int(row["hidden"]), int(row["heads"])
    held, rest = 34 * hidden + 5 * heads * 1024, 32 * hidden
    command = [pleat, "schedule", row["schedule"], "--ranks", row["ranks"], "--micro", row["micro"], "--times",
               f"{row['f']},{row['i']},{row['w']}", "--send", row["send"], "--rest", repr(rest / held), "--json"]
    if row["schedule"] != "1f1b":
        command.append("--apart")
    if row["k"]:
        limit = int(float(row["k"]) * int(row["ranks"]) * held)
        command += ["--memory", repr(limit / held)]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    took = time.perf_counter() - start
    told = json.loads(done.stdout)
    busy = told["step_seconds"] * (1 - told["bubble"])
    return told["bubble"], 1 - busy / told["bound_seconds"], told["held"], took


def main():
    out = csv.writer(sys.stdout, lineterminator="\n")
    rows = list(csv.DictReader(open(here / "schedules/published.csv")))
    out.writerow(list(rows[0])[:-1] + ["published", "bubble", "bound", "gap", "held", "took_s"])
    worse = proven = 0
    for row in rows:
        bubble, bound, held, took = measure(row)
        gap = 1 - (1 - bubble) / (1 - bound)
        published = float(row["bubble"])
        if row["schedule"] == "search":
            worse += bubble > published + 5e-5
            proven += gap < 1e-9
        out.writerow(list(row.values())[:-1] + [f"{published:.4f}", f"{bubble:.4f}", f"{max(bound, 0):.4f}",
                                                f"{max(gap, 0):.4f}", f"{held:.2f}", f"{took:.3f}"])
        sys.stdout.flush()
    searched = sum(row["schedule"] == "search" for row in rows)
    print(f"schedules.py: {searched} searched: {worse} slower than published, {proven} proven", file=sys.stderr)


main()
