"""Weights through the public safetensors library and back: pleat's checkpoint is loaded and written
again, as one file, as shards with an index and in f16; pleat starts from each with --weights, and
what it saves then has to be the same to the last bit (of f16: what f16 keeps). Then a batch that the
library wrote is trained on. The exit status is 6 where anything differs."""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
from safetensors.numpy import load_file, save_file

MODEL = "gpt2:layers=2,hidden=32,heads=4,vocab=256,seq=16,batch=4"
MOMENTS = (".m", ".v")


def train(pleat, folder, *more):
    command = [pleat, "train", MODEL, "--data", "synthetic", "--threads", "1", "--save", folder, *more]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return load_file(pathlib.Path(folder) / newest(folder))


def newest(folder):
    name = (pathlib.Path(folder) / "latest").read_text().strip()
    return name.replace(".json", ".safetensors")


def weights(tensors):
    return {k: v for k, v in tensors.items() if not k.endswith(MOMENTS)}


def write_shards(tensors, folder, n=3):
    folder.mkdir()
    names = sorted(tensors)
    index = {}
    for i in range(n):
        file = f"model-{i + 1:05}-of-{n:05}.safetensors"
        save_file({k: tensors[k] for k in names[i::n]}, folder / file)
        index.update(dict.fromkeys(names[i::n], file))
    text = json.dumps({"metadata": {}, "weight_map": index})
    (folder / "model.safetensors.index.json").write_text(text)


def same(a, b):
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes()
        for k in a
    )


def check_weights(pleat, top):
    """By form: did pleat save what the library wrote?"""
    first = weights(train(pleat, str(top / "first"), "--steps", "3"))
    half = {k: v.astype(np.float16) for k, v in first.items()}
    save_file(load_file(top / "first" / newest(top / "first")), top / "one.safetensors")
    save_file(half, top / "half.safetensors")
    write_shards(first, top / "shards")
    wide = {k: v.astype(np.float32) for k, v in half.items()}
    forms = [("one.safetensors", first), ("shards", first), ("half.safetensors", wide)]
    for form, wanted in forms:
        for split in (["--devices", "1"], ["--devices", "4", "--strategy", "zero=3"]):
            more = ["--steps", "0", "--seed", "7", "--weights", str(top / form)]
            found = train(pleat, str(top / ("from-" + form + split[1])), *more, *split)
            yield f"{form}, {' '.join(split)}", same(weights(found), wanted)


def check_batch(pleat, top):
    """Rows that the library wrote can be trained on, the same way twice."""
    tokens = np.random.default_rng(1).integers(0, 256, (64, 17))
    batch = {"tokens": tokens[:, :-1].copy(), "targets": tokens[:, 1:].astype(np.int32)}
    save_file(batch, top / "batch.safetensors")
    more = ["--data", str(top / "batch.safetensors"), "--steps", "3"]
    one = train(pleat, str(top / "batch-1"), *more)
    again = train(pleat, str(top / "batch-2"), *more)
    yield "a batch of i64 tokens and i32 targets", same(one, again)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--pleat", default="build/pleat", help="the binary")
    a = p.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        for check in (check_weights, check_batch):
            for what, ok in check(a.pleat, top):
                print(f"{what}: {'the same bits' if ok else 'DIFFERS'}")
                bad += not ok
    raise SystemExit(6 if bad else 0)


if __name__ == "__main__":
    main()
