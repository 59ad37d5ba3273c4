"""Training on files of pictures that are slow to open: pictures a second of two builds of pleat, as CSV.

    python3 bench/loader.py BEFORE/pleat build/pleat > bench/loader_real.csv

bench/loader/slow/slow.c says what slow is; 2,000 made-up PNGs of 64 x 64 are kept in build/bench-loader."""

import os
import re
import struct
import subprocess
import sys
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.path.join(ROOT, "build", "bench-loader")
MODEL = "vit_b_16:layers=1,hidden=96,ffn=192,heads=3,patch=16,size=64,classes=2,batch=16"
# name, milliseconds to open a file, seconds of a period and of its burst, steps
CASES = [("fast", 0, 0, 0, 150), ("slow", 10, 0, 0, 250), ("bursts", 1, 20, 4, 600)]


def write_png(path, side, seed):
    state = seed
    rows = bytearray()
    for _ in range(side):
        rows.append(0)
        for _ in range(3 * side):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            rows.append(state >> 16 & 0xFF)
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(bytes(rows), 1)),
              (b"IEND", b"")]
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in chunks:
            f.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))


def make_pictures(folder, n=2000):
    for i in range(n):
        path = os.path.join(folder, "ab"[i % 2], "%04d.png" % i)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.exists(path):
            write_png(path, 64, i)


def run(pleat, preload, data, ms, period, burst, steps):
    env = dict(os.environ, LD_PRELOAD=preload, SLOW_MS=str(ms), SLOW_PERIOD=str(period), SLOW_BURST=str(burst))
    command = [pleat, "train", MODEL, "--data", data, "--steps", str(steps), "--eval-batches", "0", "--lr", "1e-4"]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    loss = re.findall(r"loss\s+([0-9.]+)|([0-9.]+) nats", done.stdout)[-1]
    return re.search(r"([0-9]+) samples/s", done.stderr).group(1), loss[0] or loss[1]


def main():
    preload, data = os.path.join(WORK, "slow.so"), os.path.join(WORK, "pictures")
    make_pictures(data)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", preload, os.path.join(ROOT, "bench/loader/slow/slow.c"), "-lm",
                    "-ldl"], check=True)
    print("files,round,build,pictures_per_s,last_loss")
    for name, ms, period, burst, steps in CASES:
        for turn in range(3):
            for label, pleat in zip(("before", "now"), sys.argv[1:3]):
                rate, loss = run(pleat, preload, data, ms, period, burst, steps)
                print("%s,%d,%s,%s,%s" % (name, turn, label, rate, loss), flush=True)


if __name__ == "__main__":
    main()
