#!/usr/bin/env python3
"""Measured training runs of others beside pleat's forecasts: bench/runs.py [SET ...] > bench/runs.csv

Sets, all by default; those with pipelines (1F1B) are rows of their own, "SET pp":
  ultrascale  llama on 8 to 512 H100 (Hugging Face's Ultra-Scale playbook): dp or zero=1, tp, sp, pp;
              runs below 10 % of the peak are left out, as their network or nodes were ill
  foundry     MPT on 8 to 512 H100 and A100 (llm-foundry): zero=2, zero=3, recompute
  vtrain      GPT on 2 to 512 A100 (vTrain's ground truth): dp, tp, pp, recompute=full
  torchtitan  llama3-8b and 70b on 8 to 256 H100 of 500 W and 2.4 TB/s, forecast as those of 700 W and
              3.35 TB/s (torchtitan's benchmarks of December 2024): zero=3, tp, and sequences of up to
              262,144 tokens over 1 to 8 devices; products in fp8 where forecasts are bf16, but in 1-D
  dgxc        llama3-405b on 512 H100, a recipe of NVIDIA's in bf16 (dgxc-benchmarking)
  mlperf      llama3-405b on 512 to 8,192 H100, in fp8 (MLPerf Training v5.0): only how it scales compares
  gpu         models of PyTorch, transformers and torchvision on one H100, eager and with each block
              compiled: bench/gpu.csv, which bench/torch/gpu.py measures
A row of CSV on stdout for each run: what it is, the seconds of a step as measured and as forecast,
and bytes of a device where they were measured. The summary goes to stderr: errors, the rank
correlation (Spearman's), and the regret, which is how much slower than a cell's best run the one is
that forecasts would pick (a cell: the runs of one model, batch and cluster).

--launch US is what the host takes to hand a kernel over, in microseconds, which no step is faster
than; pleat's kinds have 0, as in CUDA graphs.

With --auto every model and cluster is planned by auto too, and a run whose forecast is more than 3 %
faster than that of auto's plan is told.

PLEAT is the program (build/pleat), DATA the folder of the tables (../shared/data)."""

import argparse
import concurrent.futures
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

FILES = {}  # clusters that have another launch
PLEAT = os.environ.get("PLEAT", "build/pleat")
DATA = os.environ.get("DATA", "../shared/data")
COLUMNS = ["set", "model", "cluster", "strategy", "measured_s", "forecast_s", "measured_bytes",
           "forecast_bytes", "auto_s", "auto"]

# layers, width, heads, width inside the feed-forward layer, is the table tied?
ULTRASCALE = {"1B": (16, 2048, 32, 8192, 1), "3B": (28, 3072, 32, 8192, 1),
              "8B": (32, 4096, 32, 14336, 0), "80B": (80, 8192, 64, 28672, 0)}
# layers, width, heads
MPT = {"125m": (12, 768, 12), "350m": (24, 1024, 16), "760m": (24, 1536, 12), "1b": (24, 2048, 16),
       "3b": (32, 2560, 20), "7b": (32, 4096, 32), "13b": (40, 5120, 40), "30b": (48, 7168, 56),
       "70b": (80, 8192, 64)}
KINDS = {"h100_80gb": "h100", "a100_80gb": "a100-80gb", "a100_40gb": "a100"}


def rows_of(path):
    with open(os.path.join(DATA, path), encoding="utf-8-sig", newline="") as f:
        return list(csv.DictReader(f))


def cluster_of(devices, kind):
    return f"{devices // 8}x8x{kind}" if devices > 8 else f"{devices}x{kind}"


def pp_of(stages):
    return f"pp={stages}" if stages != "1" else ""


def named(stages):
    return " pp" if stages != "1" else ""


def run_of(name, model, cluster, words, seconds, memory=0.0):
    return {"set": name, "model": model, "cluster": cluster,
            "strategy": ",".join(w for w in words if w), "measured_s": seconds,
            "measured_bytes": memory}


def ultrascale():
    for x in rows_of("truth/ultrascale_h100.csv"):
        if not float(x["mfu_pct"] or 0) >= 10:
            continue
        layers, width, heads, ffn, tied = ULTRASCALE[x["model"]]
        model = (f"llama:layers={layers},hidden={width},heads={heads},kv={heads},ffn={ffn},"
                 f"vocab=131072,seq=4096,batch={x['gbs']},tied={tied},dtype=bf16")
        tp = f"tp={x['tp']},sp" if x["tp"] != "1" else ""
        zero = "zero=1" if x["zero"] == "1" and x["dp"] != "1" else "masters"
        words = [pp_of(x["pp"]), zero, tp, f"micro={x['grad_acc']}"]
        yield run_of("ultrascale" + named(x["pp"]), model, cluster_of(8 * int(x["nodes"]), "h100"), words,
                     4096 * float(x["gbs"]) / float(x["tok_s"]), 1e9 * float(x["mem_gb"] or 0))


def foundry():
    layout = {"FULL_SHARD": "zero=3", "SHARD_GRAD_OP": "zero=2"}
    for x in rows_of("truth/llm_foundry.csv"):
        if "fp8" in x["Precision"] or x["Activation CPUOffload"] == "True":
            continue
        layers, width, heads = MPT[x["Model"].lower()]
        devices, seq, rows = int(x["# GPUs"]), x["SeqLen (T)"], x["GlobalBatchSize"]
        model = (f"gpt2:layers={layers},hidden={width},heads={heads},vocab=50368,seq={seq},"
                 f"batch={rows},dropout=0,dtype=bf16")
        again = "recompute=full" if x["Activation Checkpointing"] == "True" else ""
        words = [layout[x["Sharding Strategy"]], again, f"micro={x['GradAccum']}"]
        yield run_of("foundry " + KINDS[x["GPU"]], model, cluster_of(devices, KINDS[x["GPU"]]),
                     words, int(rows) * int(seq) / (devices * float(x["Throughput (T/s/GPU)"])))


def vtrain():
    for path in ("vtrain/ground_truth_multi.csv", "vtrain/ground_truth_single.csv"):
        for x in rows_of(path):
            rows, seq = int(x["global batch"]), x["sequence length"]
            micro = rows // (int(x["micro batch"]) * int(x["data parallelism"]))
            model = (f"gpt2:layers={x['# layers']},hidden={x['hidden size']},"
                     f"heads={x['attention heads']},vocab=51200,seq={seq},batch={rows},dropout=0,"
                     "dtype=bf16")
            tp, pp = x["tensor parallelism"], x["pipeline parallelism"]
            words = [pp_of(pp), "masters", f"tp={tp}" if tp != "1" else "", "recompute=full",
                     f"micro={micro}"]
            name = "vtrain multi" if "multi" in path else "vtrain single"
            yield run_of(name + named(pp), model, cluster_of(int(x["# GPUs"]), "a100-80gb"), words,
                         float(x["iteration time (ms)"]) / 1e3)


# size, GPUs, batch, tokens of a row, words, tokens a second of a GPU, GiB of one
TORCHTITAN = [
    ("8b", 8, 16, 8192, "zero=3,recompute=16", 6667, 77.0),
    ("8b", 128, 256, 8192, "zero=3,recompute=16", 6514, 62.0),
    ("8b", 8, 8, 32768, "zero=3,recompute=full", 3890, 83.9),
    ("8b", 8, 4, 65536, "zero=3,cp=gather:2,recompute=full", 2540, 84.2),
    ("8b", 8, 2, 131072, "zero=3,cp=gather:4,recompute=full", 1071, 84.0),
    ("8b", 8, 1, 262144, "zero=3,cp=gather:8,recompute=full", 548, 84.5),
    ("70b", 256, 512, 8192, "zero=3,tp=8,sp,recompute=full", 829, 71.9),
]


def torchtitan():
    for size, devices, rows, seq, words, speed, memory in TORCHTITAN:
        yield run_of("torchtitan", f"llama3-{size}:seq={seq},batch={rows},dtype=bf16",
                     cluster_of(devices, "h100"), [words], rows * seq / (devices * speed),
                     memory * 2**30)


# size, GPUs, batch, tokens of a row, words, seconds of a step: NVIDIA's dgxc-benchmarking, v25.04, in bf16
DGXC = [("405b", 512, 256, 8192, "pp=8,vpp=8,zero=1,cp=2,tp=8,sp,micro=64", 19.81)]


def dgxc():
    for size, devices, rows, seq, words, seconds in DGXC:
        yield run_of("dgxc pp", f"llama3-{size}:seq={seq},batch={rows},dtype=bf16",
                     cluster_of(devices, "h100"), [words], seconds)


# GPUs, batch, micro-batches, seconds of a step: LLaMA-3.1 405B of MLPerf Training v5.0 on H100, which computes in fp8: only
# how it scales can be compared
MLPERF = [(512, 1152, 288, 55.10), (2048, 1152, 72, 14.21), (2432, 1216, 64, 12.70), (2560, 1120, 56, 11.18),
          (8192, 1536, 24, 5.18)]


def mlperf():
    for devices, rows, micro, seconds in MLPERF:
        yield run_of("mlperf", f"llama3-405b:seq=8192,batch={rows},dtype=bf16", cluster_of(devices, "h100"),
                     [f"pp=8,vpp=8,zero=1,cp=2,tp=8,sp,micro={micro}"], seconds)


def gpu():
    with open(os.path.join(os.path.dirname(__file__), "gpu.csv"), encoding="utf-8", newline="") as f:
        for x in csv.DictReader(f):
            yield run_of(f"gpu {x['way']}", x["model"], "1x1xh100", ["dp"], float(x["measured_s"]),
                         float(x["measured_bytes"]))


SETS = {"ultrascale": ultrascale, "foundry": foundry, "vtrain": vtrain, "torchtitan": torchtitan,
        "dgxc": dgxc, "mlperf": mlperf, "gpu": gpu}


def plan(model, cluster, strategy):
    command = [PLEAT, "plan", model, "--cluster", FILES.get(cluster, cluster), "--strategy", strategy, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{' '.join(command)}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def write_clusters(clusters, launch, folder):
    """A plan file has its cluster as text."""
    for name in clusters:
        path = os.path.join(folder, name)
        subprocess.run([PLEAT, "plan", "mlp:layers=1,batch=4096", "--cluster", name, "--strategy", "dp",
                        "-o", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as f:
            text = json.load(f)["cluster"]
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("kernel_launch: {value: 0 s", f"kernel_launch: {{value: {launch} us"))
        FILES[name] = path


def forecast(run):
    found = plan(run["model"], run["cluster"], run["strategy"])
    if found:
        run["forecast_s"] = found["predicted"]["step_seconds"]
        run["forecast_bytes"] = found["memory"]["peak_bytes"]
        run["fits"] = found["memory"]["peak_bytes"] <= found["memory"]["limit_bytes"]
    return run


def find_auto(cell):
    found = plan(*cell, "auto")
    if not found:
        return cell, (None, "nothing fits")
    micro = found["predicted"]["micro"]
    name = found["strategy"]["name"] + (f",micro={micro}" if micro > 1 else "")
    return cell, (found["predicted"]["step_seconds"], name)


def ranks(values):
    order, rank = sorted(range(len(values)), key=lambda i: values[i]), [0] * len(values)
    for at, i in enumerate(order):
        rank[i] = at
    return rank


def spearman(a, b):
    n, x, y = len(a), ranks(a), ranks(b)
    if n == 1:
        return 1
    return 1 - 6 * sum((p - q) ** 2 for p, q in zip(x, y)) / (n * (n * n - 1))


def regrets(runs):
    cells = {}
    for x in runs:
        cells.setdefault((x["model"], x["cluster"]), []).append(x)
    several = [c for c in cells.values() if len(c) > 2]
    for c in several:
        picked = min(c, key=lambda x: x["forecast_s"])
        yield picked["measured_s"] / min(x["measured_s"] for x in c) - 1


def tell(name, runs):
    ratio = [x["forecast_s"] / x["measured_s"] for x in runs]
    middle = statistics.median(ratio)
    text = (f"{name}: {len(runs)} runs; forecasts off by {mean_off(ratio):.1f} % in the mean, by "
            f"{mean_off([r / middle for r in ratio]):.1f} % once divided by their median ratio, "
            f"{middle:.2f}; rank correlation "
            f"{spearman([x['measured_s'] for x in runs], [x['forecast_s'] for x in runs]):.3f}")
    lost = list(regrets(runs))
    if lost:
        near = sum(r <= 0.05 for r in lost)
        text += f"; picks within 5 % of the best run in {near} of {len(lost)} cells"
    bytes_off = [x["forecast_bytes"] / x["measured_bytes"] for x in runs if x["measured_bytes"]]
    if bytes_off:
        text += f"; memory off by {mean_off(bytes_off):.1f} %"
    over = sum(not x["fits"] for x in runs)
    print(text + (f"; {over} said not to fit" if over else ""), file=sys.stderr)


def mean_off(ratio):
    return 100 * statistics.mean(abs(r - 1) for r in ratio)


def tell_auto(runs):
    slower = [x for x in runs if x["fits"] and x["auto_s"] and x["forecast_s"] < 0.97 * x["auto_s"]]
    for x in slower:
        print(f"{x['strategy']} is {100 * (1 - x['forecast_s'] / x['auto_s']):.1f} % faster than "
              f"auto ({x['auto']}): {x['model']} on {x['cluster']}", file=sys.stderr)
    print(f"auto: {len(slower)} of {len(runs)} runs are forecast to be more than 3 % faster",
          file=sys.stderr)


def forecast_all(names, auto):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [r for r in pool.map(forecast, [r for n in names for r in SETS[n]()])
                if "forecast_s" in r]
    cells = sorted({(r["model"], r["cluster"]) for r in runs}) if auto else []
    found = dict(map(find_auto, cells))  # one at a time: each uses all cores
    for r in runs:
        r["auto_s"], r["auto"] = found.get((r["model"], r["cluster"]), (None, ""))
    return runs


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("sets", nargs="*", default=list(SETS), metavar="SET", choices=[*SETS, list(SETS)])
    options.add_argument("--launch", type=float)
    options.add_argument("--auto", action="store_true")
    asked = options.parse_args()
    if not os.path.isdir(DATA):
        sys.exit(f"bench/runs.py: no folder '{DATA}': set DATA")
    with tempfile.TemporaryDirectory() as folder:
        if asked.launch:
            clusters = {r["cluster"] for n in asked.sets for r in SETS[n]()}
            write_clusters(clusters, asked.launch, folder)
        runs = forecast_all(asked.sets, asked.auto)
    out = csv.DictWriter(sys.stdout, COLUMNS, extrasaction="ignore", lineterminator="\n")
    out.writeheader()
    for r in runs:
        out.writerow({**r, **{k: f"{r[k]:.6g}" for k in COLUMNS if isinstance(r.get(k), float)}})
    for name in sorted({r["set"] for r in runs}):
        tell(name, [r for r in runs if r["set"] == name])
    if asked.auto:
        tell_auto(runs)


if __name__ == "__main__":
    main()
