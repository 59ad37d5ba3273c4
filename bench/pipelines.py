#!/usr/bin/env python3
"""Pipelines: bench/pipelines.py [PLEAT] > bench/pipelines.csv

Three tables in one file, `table` says which.
  search    `pleat plan` with -O 2 (no pipelines) and -O 3 beside it, on the same model and cluster
  published layouts that others trained with (Narayanan et al., SC 2021, table 1: Megatron on Selene) beside what -O 3
            finds for the same model, batch and devices: seconds of a step as forecast, and the teraflops a device reaches
            beside those that were measured
  run       training on two threads of this machine: the forecast by what `pleat probe` measured here, and the clock
seconds are those of a step, took_s of the whole command."""
import csv
import json
import pathlib
import re
import subprocess
import sys
import time

here = pathlib.Path(__file__).parent
pleat = sys.argv[1] if len(sys.argv) > 1 else str(here.parent / "build/release/pleat")

SEARCH = [
    ("gpt-39b:seq=1024", "8x8xv100-32gb"),
    ("gpt2-xl:batch=64", "2x8xv100"),
    ("llama3-70b:batch=128,seq=4096,dtype=bf16", "8x8xh100"),
    ("llama3-405b:batch=512,seq=8192,dtype=bf16", "64x8xh100"),
]
# model, nodes of eight A100 (80 GB), tensor and pipeline parallel, batch, teraflops per GPU: table 1.
PUBLISHED = [
    ("gpt2:hidden=6144,layers=40,heads=48,seq=2048,vocab=51200", 32, 8, 1, 1024, 1, 138),
    ("gpt2:hidden=8192,layers=48,heads=64,seq=2048,vocab=51200", 64, 8, 2, 1536, 1, 135),
    ("gpt2:hidden=10240,layers=60,heads=80,seq=2048,vocab=51200", 128, 8, 4, 1792, 1, 140),
    ("gpt2:hidden=12288,layers=80,heads=96,seq=2048,vocab=51200", 192, 8, 8, 2304, 1, 148),
]
RUN = ["pp=2,micro=8", "pp=2,micro=8,schedule=gpipe", "pp=2,micro=8,schedule=zb-h1", "pp=2,vpp=2,micro=8"]


def plan(model, cluster, *words):
    start = time.perf_counter()
    done = subprocess.run([pleat, "plan", model, "--cluster", cluster, *words, "--json"], capture_output=True, text=True)
    took = time.perf_counter() - start
    told = json.loads(done.stdout) if done.stdout else None
    return told, took


def row(out, table, model, cluster, strategy, told, took, measured=""):
    step = told["predicted"]["step_seconds"] if told else ""
    name = told["strategy"]["name"] if told else strategy
    bound = told.get("pipeline", {}).get("lower_bound_seconds", "") if told else ""
    out.writerow([table, model, cluster, name, step and f"{step:.6g}", bound and f"{bound:.6g}", measured, f"{took:.2f}"])
    sys.stdout.flush()


def published(out):
    for model, nodes, tensor, stages, batch, rows, teraflops in PUBLISHED:
        spec, cluster = f"{model},batch={batch},dtype=bf16", f"{nodes}x8xa100-80gb"
        data = nodes * 8 // tensor // stages
        words = [f"tp={tensor}"] + ([f"pp={stages}"] if stages > 1 else []) + (["dp"] if data > 1 else [])
        strategy = ",".join(words + [f"micro={batch // data // rows}", "recompute=full"])
        told, took = plan(spec, cluster, "--strategy", strategy)
        row(out, "published", spec, cluster, strategy, told, took, teraflops)
        told, took = plan(spec, cluster, "-O", "3")
        row(out, "published", spec, cluster, "", told, took)


def run(out):
    model = "gpt2:layers=8,hidden=256,heads=4,vocab=256,seq=128,batch=16"
    cluster = "/tmp/pipelines-cluster.yaml"
    subprocess.run([pleat, "probe", "--devices", "2", "-o", cluster], check=True, capture_output=True)
    for strategy in RUN:
        told, took = plan(model, cluster, "--strategy", strategy)
        done = subprocess.run([pleat, "train", model, "--data", "synthetic", "--cluster", cluster, "--strategy", strategy,
                               "--steps", "12", "--eval-batches", "0"], capture_output=True, text=True)
        measured = re.search(r"a step took ([0-9.]+) ms", done.stderr)
        row(out, "run", model, "2 threads, probed", strategy, told, took, measured and f"{float(measured[1]) / 1e3:.6g}")


def main():
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["table", "model", "cluster", "strategy", "seconds", "schedule_bound_s", "measured", "took_s"])
    for model, cluster in SEARCH:
        for effort in "23":
            told, took = plan(model, cluster, "-O", effort)
            row(out, "search", model, cluster, f"-O {effort}", told, took)
    published(out)
    run(out)


main()
