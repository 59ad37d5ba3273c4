#!/usr/bin/env python3
"""WideNet and ADMM on handwritten digits: bench/mnist.py IMAGES [PLEAT [PART ...]], into
bench/mnist.csv, where the rows of other parts stay.

IMAGES is an IDX file of pictures to learn from, its labels and those that validate (t10k) beside it.
  share    what blocks share, and how many experts there are: accuracy of five seeds
  routing  experts with slots and without: pictures a second and loss, side by side, the best of 3
  admm     sweeps without gradients, against Adam on the same network
  age      sweeps without gradients, by sums over the pictures that are some sweeps old
  linear   sweeps with linear blocks, the picture read at once
  rows     the same, the picture read row by row, against Adam (here IMAGES has 2,000 digits)
"""
import csv, platform, re, statistics, subprocess, sys, time

IMAGES = sys.argv[1]
PLEAT = sys.argv[2] if len(sys.argv) > 2 else "build/pleat"
TABLE = "bench/mnist.csv"
SEEDS = range(1, 6)
SMALL = "layers=4,hidden=48,ffn=96,heads=4,patch=7,size=28,classes=10,batch=64,dropout=0.0,group=8"
WIDE = "layers=4,hidden=128,ffn=1024,heads=4,patch=7,size=28,classes=10,batch=64,dropout=0.0"


def train(model, *options):
    text = subprocess.run([PLEAT, "train", model, "--data", IMAGES, *options], text=True,
                          stderr=subprocess.STDOUT, stdout=subprocess.PIPE, check=True).stdout
    find = lambda pattern: float(re.findall(pattern, text)[-1])
    accuracy = find(r"accuracy (\S+)") if "accuracy" in text else float("nan")
    return dict(loss=find(r"step \d+ loss (\S+)"), accuracy=accuracy,
                rate=find(r"(\d+) samples/s"))


def share(put):
    for name, keys in (("attention and experts", "share=blocks"), ("norms too", "share=norms"),
                       ("one expert", "share=blocks,experts=1,k=1"),
                       ("nothing", "share=nothing")):
        got = [train(f"widenet-b:{SMALL},{keys}", "--steps", "600", "--lr", "3e-3", "--warmup",
                     "60", "--eval-batches", "156", "--seed", str(s))["accuracy"] for s in SEEDS]
        put("share", name, "accuracy", statistics.mean(got), min(got), max(got))


def routing(put):
    kinds = (("no slots", "capacity=0"), ("slots, none dropped", "capacity=2.0"),
             ("slots of 1.2", "capacity=1.2"))
    got = {name: [] for name, _ in kinds}
    for _ in range(3):
        for name, keys in kinds:
            got[name].append(train(f"widenet-b:{WIDE},{keys}", "--steps", "40", "--lr", "1e-3",
                                   "--eval-batches", "0"))
    for name, runs in got.items():
        rates = [r["rate"] for r in runs]
        put("routing", name, "pictures/s", max(rates), min(rates), max(rates))
        put("routing", name, "loss of step 40", runs[0]["loss"], "", "")


def admm(put):
    rows = int.from_bytes(open(IMAGES, "rb").read(8)[4:], "big")
    for seeds, name, model, options in (
            (SEEDS, "admm, 20 sweeps, rho = 0.03", f"elman:steps=1,batch={rows},near=1000.0,rho=0.03",
             ("--method", "admm", "--steps", "20", "--eval-batches", "1")),
            (SEEDS, "admm, 20 sweeps, as published (nu = rho = 1)",
             f"elman:steps=1,batch={rows}",
             ("--method", "admm", "--steps", "20", "--eval-batches", "1")),
            (SEEDS, "Adam, 10 epochs", "elman:steps=1,batch=100",
             ("--optimizer", "adam", "--decay", "0", "--lr", "1e-3", "--steps", str(rows // 10),
              "--eval-batches", "100"))):
        got = [train(model, *options, "--seed", str(s))["accuracy"] for s in seeds]
        put("admm", name, "accuracy", statistics.mean(got), min(got), max(got))


def sweeps(model, count, seed):
    return train(model, "--method", "admm", "--steps", str(count), "--eval-batches", "1",
                 "--seed", str(seed))["accuracy"]


def age(put):
    rows = int.from_bytes(open(IMAGES, "rb").read(8)[4:], "big")
    for old in (0, 1, 2, 4):
        got = [sweeps(f"elman:steps=1,batch={rows},near={rows / 4},rho=0.03,age={old}", 40, s)
               for s in SEEDS]
        put("age", f"{old}, 40 sweeps", "accuracy", statistics.mean(got), min(got), max(got))


def linear(put):
    rows = int.from_bytes(open(IMAGES, "rb").read(8)[4:], "big")
    got = [sweeps(f"elman:steps=1,batch={rows},blocks=linear,nu=0.03,near={rows / 100},rho=0.1,"
                  "most=1.0", 20, s) for s in SEEDS]
    put("linear", "picture at once, 20 sweeps", "accuracy", statistics.mean(got), min(got), max(got))


def rows(put):
    n = int.from_bytes(open(IMAGES, "rb").read(8)[4:], "big")
    got = [sweeps(f"elman:steps=28,batch={n},blocks=linear,nu=0.1,near={0.28 * n}", 60, s)
           for s in SEEDS]
    put("rows", "row by row, 60 sweeps", "accuracy", statistics.mean(got), min(got), max(got))
    got = [train("elman:steps=28,batch=100", "--optimizer", "adam", "--decay", "0", "--lr", "1e-3",
                 "--steps", str(n // 5), "--eval-batches", "100", "--seed", str(s))["accuracy"]
           for s in SEEDS]
    put("rows", "Adam, 20 epochs", "accuracy", statistics.mean(got), min(got), max(got))


def main():
    parts = dict(routing=routing, share=share, admm=admm, age=age, linear=linear, rows=rows)
    wanted = sys.argv[3:] or list(parts)
    with open(TABLE, newline="") as file:
        kept = [row for row in csv.reader(file) if row and row[0] not in wanted + ["part"]]
    with open(TABLE, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["part", "what", "figure", "mean or best", "least", "most", "machine", "date"])
        out.writerows(kept)

        def put(*row):
            row = [f"{x:.4g}" if isinstance(x, float) else x for x in row]
            out.writerow([*row, f"{platform.machine()}, 2 cores", time.strftime("%Y-%m-%d")])
            file.flush()
            print(*row, sep="  ")

        for name in wanted:
            parts[name](put)


main()
