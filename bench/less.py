#!/usr/bin/env python3
"""Training in less memory, on two ranks of this machine: bench/less.py [STEPS] > bench/less.csv

Each model trains STEPS steps (100) with all the memory that it likes, then within a third of that, with
blocks recomputed, with states and activations in the host's memory, or in micro-batches. A row of CSV for
each run: bytes of a rank as planned and as allocated, the most that both had resident (RssAnon), the
seconds of a step as forecast and as measured (the median, without the first three), and whether the
weights at the end are those of the first run, byte for byte. What lies in the host's memory is in a file
of HOST (--host-dir; /dev/shm), so that it does not count as the process's own.

The forecast is that of a probe of this machine, taken right before the runs of a model. PLEAT is the
program (build/pleat), WORK where files go (build/less)."""

import contextlib
import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

PLEAT = os.environ.get("PLEAT", "build/pleat")
WORK = os.environ.get("WORK", "build/less")
HOST = os.environ.get("HOST", "/dev/shm")
WARM = 3
GPT = "gpt2:layers=12,hidden=256,heads=8,vocab=512,seq=256,batch=16,dropout=0.1"
RESNET = "resnet50:size=96,classes=100,batch=16"
RUNS = [(GPT, ["zero=3", "zero=3,recompute=full", "zero=3,offload=all",
               "zero=3,offload=all,offload=updates", "zero=3,micro=8"]),
        (RESNET, ["zero=3", "zero=3,offload=all"])]
COLUMNS = ["model", "strategy", "limit_bytes", "planned_bytes", "allocated_bytes", "resident_bytes",
           "predicted_ms", "measured_ms", "error_percent", "same_weights"]


def call(*words):
    done = subprocess.run([PLEAT, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{PLEAT} {' '.join(words)}: {done.stderr.strip()}")
    return done


def bytes_of(text):
    """Of "memory of one device: 38.0 MiB of states, 155 MiB of work (...), 512 KiB of scratch"."""
    units = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
    parts = re.findall(r"([0-9.]+) ([KMG]i|)B of (?:states|work|scratch)", text)
    if not parts:
        sys.exit("pleat train does not say what a device has in memory")
    return sum(float(n) * units[unit] for n, unit in parts)


def digest(folder, steps):
    with open(os.path.join(folder, f"step-{steps:08d}.safetensors"), "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def resident(command):
    """The most that the process had in memory of its own, looked at ten times a second, and what it
    printed."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(command, stdout=out, stderr=err)
        peak = 0
        while child.poll() is None:
            with contextlib.suppress(OSError), open(f"/proc/{child.pid}/status") as f:
                peak = max([peak] + [1024 * int(x.split()[1]) for x in f if x.startswith("RssAnon:")])
            time.sleep(0.1)
        out.seek(0), err.seek(0)
        if child.returncode:
            sys.exit(f"{' '.join(command)}: {err.read().strip()}")
        return peak, out.read(), err.read()


def train(model, strategy, limit, cluster, steps):
    folder = os.path.join(WORK, "saved")
    shutil.rmtree(folder, ignore_errors=True)
    plan = json.loads(call("plan", model, "--cluster", cluster, "--strategy", strategy, "--json").stdout)
    words = [PLEAT, "train", model, "--data", "synthetic", "--eval-batches", "0", "--devices", "2",
             "--threads", "1", "--steps", str(steps), "--cluster", cluster, "--strategy", strategy,
             "--timings", "--json", "--save", folder]
    if limit:
        words += ["--memory", f"{limit}B"]
    if "offload" in strategy:
        words += ["--host-dir", HOST]
    peak, out, err = resident(words)
    seconds = sorted([json.loads(x)["seconds"] for x in out.splitlines() if '"loss"' in x and '"seconds"' in x][WARM:])
    predicted, measured = 1e3 * plan["predicted"]["step_seconds"], 1e3 * seconds[len(seconds) // 2]
    return {"model": model, "strategy": strategy, "limit_bytes": limit or "",
            "planned_bytes": plan["memory"]["peak_bytes"], "allocated_bytes": int(bytes_of(out + err)),
            "resident_bytes": peak, "predicted_ms": f"{predicted:.1f}", "measured_ms": f"{measured:.1f}",
            "error_percent": f"{100 * (predicted / measured - 1):+.1f}"}, digest(folder, steps)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    os.makedirs(WORK, exist_ok=True)
    out = csv.DictWriter(sys.stdout, COLUMNS)
    out.writeheader()
    for model, strategies in RUNS:
        cluster = os.path.join(WORK, "local-2.yaml")
        call("probe", "--devices", "2", "-o", cluster)
        first, limit = None, 0
        for strategy in strategies:
            row, weights = train(model, strategy, limit, cluster, steps)
            first, limit = first or weights, limit or row["planned_bytes"] // 3
            out.writerow(row | {"same_weights": "yes" if weights == first else "no"})
            sys.stdout.flush()


main()
