"""Running pleat, and in Python what its training loop defines: rates, rows, synthetic inputs."""

import json
import math
import os
import subprocess
import tempfile

import numpy as np

U32, U64 = np.uint64(0xFFFFFFFF), (1 << 64) - 1

# Settings of a run, equal on both sides; keys are the options of `pleat train`.
SETTINGS = {
    "steps": 20,
    "lr": 1e-3,
    "warmup": 0,
    "seed": 1,
    "optimizer": "adamw",
    "beta1": 0.9,
    "beta2": 0.99,
    "eps": 1e-8,
    "momentum": 0.9,
    "decay": 0.1,
    "clip": 1.0,
}


def spec(name, keys):
    return name + ":" + ",".join(f"{k}={v}" for k, v in keys.items())


def command(pleat, name, keys, data, settings, threads, *more):
    c = [
        pleat,
        "train",
        spec(name, keys),
        "--data",
        data,
        "--threads",
        str(threads),
        "--json",
        "--eval-batches",
        "0",
    ]
    for k, v in settings.items():
        c += [f"--{k}", str(v)]
    return c + list(more)


def version(pleat):
    return subprocess.run(
        [pleat, "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()


def run(command, env=None):
    """The JSON lines of stdout and the peak resident MiB; stderr is shown if it fails."""
    with tempfile.TemporaryFile("w+") as err:
        p = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
            env={**os.environ, **(env or {})},
        )
        out = p.stdout.read()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        if p.returncode:
            raise SystemExit(f"{' '.join(command)}\nfailed with {p.returncode}:\n{err.read()}")
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return lines, usage.ru_maxrss / 1024


def rate(s, step):
    """Linear warm-up, then a cosine down to a tenth (src/train/train.c)."""
    if step < s["warmup"]:
        lr = s["lr"] * (step + 1) / (s["warmup"] + 1)
    else:
        left = s["steps"] - s["warmup"]
        at = min(1, (step - s["warmup"]) / left) if left > 0 else 1
        lr = s["lr"] / 10 + 0.5 * (s["lr"] - s["lr"] / 10) * (1 + math.cos(math.pi * at))
    return float(np.float32(lr))


# -- random numbers: src/base/rng.c ----------------------------------------------------------------


def stream_of(name):
    """FNV-1a."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & U64
    return h


def mix(a, b):
    """The finaliser of splitmix64."""
    z = a + 0x9E3779B97F4A7C15 * (b + 1) & U64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & U64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & U64
    return z ^ z >> 31


def philox(seed, stream, blocks):
    """Philox4x32-10 (Salmon et al., 2011): the words of each counter block, [blocks, 4] uint64."""
    blocks = np.asarray(blocks, np.uint64)
    c0, c1 = blocks & U32, blocks >> np.uint64(32)
    c2 = np.full_like(blocks, stream & 0xFFFFFFFF)
    c3 = np.full_like(blocks, stream >> 32)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0 = (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0)
        c2 = (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1)
        c1, c3 = p1 & U32, p0 & U32
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], -1)


def below(seed, stream, index, n):
    words = philox(seed, stream, [index])[0]
    return (int(words[0]) << 32 | int(words[1])) * n >> 64


def uniform(seed, stream, first, n):
    """Numbers [first, first + n) of a stream, in [0, 1)."""
    blocks = np.arange(first // 4, (first + n + 3) // 4)
    return philox(seed, stream, blocks).reshape(-1)[first % 4 :][:n] * 2.0**-32


# -- batches: src/data/text.c ----------------------------------------------------------------


def text_batch(text, share, seed, step, rows, seq):
    """Tokens and the bytes that follow them, [rows, seq] each."""
    n_train, stream = int(len(text) * share), stream_of("data")
    at = [below(seed, stream, step * rows + row, n_train - seq) for row in range(rows)]
    pick = np.array([np.frombuffer(text, np.uint8, seq + 1, i) for i in at]).astype(np.int64)
    return pick[:, :-1], pick[:, 1:]


def synthetic(name, seed, step, shape, classes=None):
    """The batch of a step: floats in [-1, 1), or integers below `classes`."""
    n = math.prod(shape)
    u = uniform(seed, mix(stream_of(name), 0), step * n, n).reshape(shape)
    return np.floor(u * classes).astype(np.int64) if classes else (2 * u - 1).astype(np.float32)
