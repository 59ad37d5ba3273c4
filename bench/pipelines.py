#!/usr/bin/env python3
"""Pipelines: bench/pipelines.py [PLEAT] > bench/pipelines.csv

Two tables in one file, `table` says which.
  search  `pleat plan` with -O 2, which knows no pipelines, and with -O 3, on the same model and cluster
  run     training on two threads of this machine: the forecast by what `pleat probe` measured here, and the clock
seconds are those of a step, schedule_bound_s is what no schedule of its stages is faster than, floor_s what no plan of any
kind is, took_s of the whole command. unequal.yaml is a node of 8 A100 beside one of 8 V100. Measured runs of others with
pipelines stand in runs.csv."""
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).parent
pleat = sys.argv[1] if len(sys.argv) > 1 else str(here.parent / "build/release/pleat")

SEARCH = [
    ("gpt-39b:seq=1024", "8x8xv100-32gb"),
    ("gpt2-xl:batch=64", "2x8xv100"),
    ("llama3-70b:batch=128,seq=4096,dtype=bf16", "8x8xh100"),
    ("llama3-405b:batch=512,seq=8192,dtype=bf16", "64x8xh100"),
    ("gpt2-xl:batch=128,dtype=bf16", "unequal.yaml"),
    ("llama3-8b:batch=32,seq=2048,dtype=bf16", "unequal.yaml"),
]
RUN = ["pp=2,micro=8", "pp=2,micro=8,schedule=gpipe", "pp=2,micro=8,schedule=zb-h1", "pp=2,vpp=2,micro=8"]


def plan(model, cluster, *words):
    start = time.perf_counter()
    place = str(here / cluster) if cluster.endswith(".yaml") else cluster
    command = [pleat, "plan", model, "--cluster", place, *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    took = time.perf_counter() - start
    told = json.loads(done.stdout) if done.stdout else None
    return told, took


def row(out, table, model, cluster, strategy, told, took, measured=""):
    step = told["predicted"]["step_seconds"] if told else ""
    name = told["strategy"]["name"] if told else strategy
    bound = told.get("pipeline", {}).get("lower_bound_seconds", "") if told else ""
    floor = told["predicted"].get("floor_seconds", "") if told else ""
    figures = [x and f"{x:.6g}" for x in (step, bound, floor)]
    out.writerow([table, model, cluster, name, *figures, measured, f"{took:.2f}"])
    sys.stdout.flush()


def run(out):
    model = "gpt2:layers=8,hidden=256,heads=4,vocab=256,seq=128,batch=16"
    folder = tempfile.TemporaryDirectory()
    cluster = f"{folder.name}/cluster.yaml"
    subprocess.run([pleat, "probe", "--devices", "2", "-o", cluster], check=True, capture_output=True)
    for strategy in RUN:
        told, took = plan(model, cluster, "--strategy", strategy)
        command = [pleat, "train", model, "--data", "synthetic", "--devices", "2", "--cluster", cluster]
        command += ["--strategy", strategy, "--steps", "12", "--eval-batches", "0"]
        done = subprocess.run(command, capture_output=True, text=True)
        clock = re.search(r"a step took ([0-9.]+) ms", done.stderr)
        row(out, "run", model, "2 threads, probed", strategy, told, took, clock and f"{float(clock[1]) / 1e3:.6g}")


def main():
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["table", "model", "cluster", "strategy", "seconds", "schedule_bound_s", "floor_s", "measured", "took_s"])
    for model, cluster in SEARCH:
        for effort in "23":
            told, took = plan(model, cluster, "-O", effort)
            row(out, "search", model, cluster, f"-O {effort}", told, took)
    run(out)


main()
