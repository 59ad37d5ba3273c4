#!/usr/bin/env python3
"""EmbRace beside its baselines, as layouts of one model. From the top of the tree:

    bench/embrace.py [build/pleat [TEXT]] > bench/embrace.csv

1. Forecasts of the LM of the One Billion Word Benchmark (word_lm-1b: 128 rows of 20 words and 8192
   samples a device) on 4 and 16 nodes of 4 RTX 3090 with 100 Gbit/s. dp with adam is dense
   all-reduce (Horovod's), zero=1 a parameter server spread over all (as BytePS), dp with lazy-adam
   all-gather of rows (Horovod's AllGather), row-wise close to Parallax.
2. 200 steps on the words of TEXT (LICENSE) by one process and by 4 ranks as EmbRace has them: the
   largest difference of a weight, over the largest of its tensor.
3. The seconds of 30 such steps on 2 and 4 ranks over links that are slowed down to 5 MiB/s.

Beside what is received in all-to-alls stands the formula 2 (N - 1) / N x rows x width x 4.
"""

import array
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

CLUSTER = """schema: pleat.cluster/1
name: %d nodes of 4 RTX 3090, InfiniBand of 100 Gbit/s
classes:
  rtx3090:
    memory: 24 GB
    f32_flops: {value: 35.6 TFLOP/s, source: RTX 3090 data sheet}
    bf16_flops: {value: 71 TFLOP/s, source: "RTX 3090 data sheet, f32 sums"}
    memory_bandwidth: {value: 936 GB/s, source: RTX 3090 data sheet}
levels:
  - {name: pcie, size: 4, latency: 5 us, bandwidth: 12 GB/s}
  - {name: infiniband, size: %d, latency: 5 us, uplink: 100 Gbit/s}
groups:
  - {class: rtx3090, count: %d}
"""
RUNS = (
    ("adam", "dp"),
    ("adam", "zero=1"),
    ("lazy-adam", "dp"),
    ("lazy-adam", "row-wise"),
    ("lazy-adam", "embrace"),
    ("lazy-adam", "auto"),
)
ROWS, WORDS, SAMPLES, WIDTH = 128, 20, 8192, 512


def plan(pleat, folder, nodes, optimizer, strategy):
    cluster = os.path.join(folder, f"{nodes}.yaml")
    with open(cluster, "w") as f:
        f.write(CLUSTER % (nodes, nodes, nodes))
    n = 4 * nodes
    c = [pleat, "plan", f"word_lm-1b:batch={ROWS * n},groups={n}", "--cluster", cluster]
    c += ["--optimizer", optimizer, "--strategy", strategy, "--json"]
    return json.loads(subprocess.run(c, capture_output=True, text=True, check=True).stdout)


def forecasts(pleat, folder):
    print("devices,optimizer,strategy,step_ms,waiting_ms,message_mib,all_to_all_mib,formula_mib")
    for nodes in (4, 16):
        n = 4 * nodes
        for optimizer, strategy in RUNS:
            x = plan(pleat, folder, nodes, optimizer, strategy)
            told = x["predicted"]
            exchanged = sum(
                m["bytes"] for m in x["messages"] if m["kind"] == "all-to-all"
            )
            rows = 2 * ROWS * WORDS + SAMPLES  # read of both tables, by each device
            formula = 2 * (n - 1) / n * rows * WIDTH * 4 if strategy == "embrace" else 0
            print(
                f"{n},{optimizer},{strategy},{told['step_seconds'] * 1e3:.1f},"
                f"{told['exposed_comm_seconds'] * 1e3:.1f},{told['comm_bytes'] / 2**20:.1f},"
                f"{exchanged / 2**20:.2f},{formula / 2**20:.2f}",
                flush=True,
            )


def weights(path):
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    for name, x in json.loads(data[8 : 8 + n]).items():
        if name.rsplit(".", 1)[-1].startswith(("weight", "bias")):  # and no moment of one
            begin, end = x["data_offsets"]
            yield name, array.array("f", data[8 + n + begin : 8 + n + end])


def difference(one, four):
    other, worst = dict(weights(four)), 0
    for name, x in weights(one):
        apart = max(abs(a - b) for a, b in zip(x, other[name]))
        worst = max(worst, apart / max(map(abs, x)))
    return worst


def train(pleat, folder, text, optimizer, ranks, strategy, steps, more):
    words = os.path.join(folder, "words.tsv")
    if not os.path.exists(words):
        subprocess.run([pleat, "data", "words", text, "-o", words], check=True, stdout=sys.stderr)
    with open(words) as f:
        vocab = sum(1 for _ in f)
    model = f"word_lm:vocab={vocab},hidden=64,batch=32,samples=128,groups=8"
    c = [pleat, "train", model, "--data", text, "--words", words, "--steps", str(steps)]
    c += ["--optimizer", optimizer, "--decay", "0", "--eval-batches", "0", "--threads", "1"]
    c += ["--devices", str(ranks), "--strategy", strategy, "--train-share", "0.8"]
    c += ["--momentum", "0"] if optimizer == "sgd" else []
    return subprocess.run(c + more, check=True, capture_output=True, text=True).stderr


def trained(pleat, folder, text, optimizer, ranks, strategy):
    out = os.path.join(folder, f"{optimizer}-{ranks}")
    train(pleat, folder, text, optimizer, ranks, strategy, 200, ["--save", out])
    return os.path.join(out, "step-00000200.safetensors")


def equality(pleat, folder, text):
    print("optimizer,steps,ranks,largest_difference")
    for optimizer in ("sgd", "adagrad", "lazy-adam"):
        one = trained(pleat, folder, text, optimizer, 1, "dp")
        four = trained(pleat, folder, text, optimizer, 4, "embrace")
        print(f"{optimizer},200,4,{difference(one, four):.1e}", flush=True)


def clock(pleat, folder, text):
    print("ranks,optimizer,strategy,seconds_of_30_steps")
    for ranks in (2, 4):
        for optimizer, strategy in RUNS[:-1]:
            told = train(
                pleat, folder, text, optimizer, ranks, strategy, 30, ["--link-rate", "5MiB"]
            )
            seconds = re.search(r"30 steps in ([0-9.]+) s", told).group(1)
            print(f"{ranks},{optimizer},{strategy},{seconds}", flush=True)


def main():
    pleat = sys.argv[1] if len(sys.argv) > 1 else "build/pleat"
    text = sys.argv[2] if len(sys.argv) > 2 else "LICENSE"
    with tempfile.TemporaryDirectory() as folder:
        forecasts(pleat, folder)
        equality(pleat, folder, text)
        clock(pleat, folder, text)


if __name__ == "__main__":
    main()
