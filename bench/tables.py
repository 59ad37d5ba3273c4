#!/usr/bin/env python3
"""Recommenders on 16 and 64 devices: what tables of embeddings take under published layouts, and
under what the search finds. Forecasts, a row each, as CSV. From the top of the tree:

    bench/tables.py [build/pleat] > bench/tables.csv

dp with adam is dense all-reduce (as Horovod's), dp with lazy-adam all-gather of rows (Horovod's
AllGather), row-wise close to Parallax, embrace EmbRace. A layout that the model does not have is
left out (16 columns on 64 devices).
"""

import json
import subprocess
import sys

MODELS = ("dlrm-kaggle:batch=16384", "dlrm-terabyte")
CLUSTERS = ("4x4xa100", "8x8xa100")
RUNS = (
    ("adam", "dp"),
    ("lazy-adam", "dp"),
    ("lazy-adam", "row-wise"),
    ("lazy-adam", "embrace"),
    ("lazy-adam", "auto"),
)


def plan(pleat, model, cluster, optimizer, strategy):
    c = [pleat, "plan", model, "--cluster", cluster, "--optimizer", optimizer]
    p = subprocess.run(c + ["--strategy", strategy, "--json"], capture_output=True, text=True)
    return json.loads(p.stdout) if p.stdout else None


def main():
    pleat = sys.argv[1] if len(sys.argv) > 1 else "build/pleat"
    print("model,cluster,optimizer,strategy,step_ms,waiting_ms,message_mib,device_gib,fits")
    for model in MODELS:
        for cluster in CLUSTERS:
            for optimizer, strategy in RUNS:
                x = plan(pleat, model, cluster, optimizer, strategy)
                if not x:
                    continue
                told, memory = x["predicted"], x["memory"]
                print(
                    f"{model},{cluster},{optimizer},{strategy},{told['step_seconds'] * 1e3:.3f},"
                    f"{told['exposed_comm_seconds'] * 1e3:.3f},{told['comm_bytes'] / 2**20:.1f},"
                    f"{memory['peak_bytes'] / 2**30:.2f},"
                    f"{'yes' if memory['peak_bytes'] <= memory['limit_bytes'] else 'no'}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
