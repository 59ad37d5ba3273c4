#!/usr/bin/env python3
"""DCGAN on handwritten digits, its pictures scored: bench/gan.py IMAGES [PLEAT [PART ...]], into
bench/gan.csv, where the rows of other parts stay.

IMAGES is an IDX file of pictures to learn from, its labels and those that validate (t10k) beside it.
A small ResNet learns to tell them; by its features pictures of each generator are compared with real
ones. Parts are learning rates: fast (2e-3, 1200 steps), slow (1e-3, 2400 steps; both networks take a fifth,
so that this is the 2e-4 of DCGAN) and slower (5e-4, 4800 steps). Of five seeds each:
  usual      Adam for both networks, the discriminator learns from pictures of the step
  buffer=1   from those that are one step old
  adabelief  AdaBelief for the generator, Adam for the discriminator (ParaGAN's pair; not slower)
"""
import csv, json, math, os, platform, statistics, subprocess, sys, tempfile, time

IMAGES = sys.argv[1]
PLEAT = sys.argv[2] if len(sys.argv) > 2 else "build/pleat"
TABLE = "bench/gan.csv"
SEEDS = range(1, 6)
PICTURES = 2000
GAN = "dcgan:size=16,width=16,z=16,channels=1,batch=32"
JUDGE = "resnet18:stages=2,blocks=1,width=16,size=16,classes=10,batch=32"
PAIR = ";".join(f"{net}:optimizer={name},rate=0.2,beta1=0.5,beta2=0.999,decay=0,clip=0"
                for net, name in (("generator", "adabelief"), ("discriminator", "adam")))
WAYS = (("usual", GAN, ()), ("buffer=1", GAN + ",buffer=1", ()),
        ("adabelief", GAN, ("--objectives", PAIR)))
PARTS = dict(fast=("2e-3", "1200", WAYS), slow=("1e-3", "2400", WAYS),
             slower=("5e-4", "4800", WAYS[:2]))


def pleat(*arguments):
    return subprocess.run([PLEAT, *arguments], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=True).stdout


def train(model, folder, *options):
    return pleat("train", model, "--data", IMAGES, "--save", folder, "--overwrite", "--threads", "1",
                 *options)


def score(folder, judge):
    return json.loads(pleat("sample", folder, "--features", judge, "--data", IMAGES, "--pictures",
                            str(PICTURES), "--threads", "1", "--json"))


def measure(part, at, put):
    rate, steps, ways = PARTS[part]
    fid = {name: [] for name, _, _ in ways}
    for seed in SEEDS:
        for name, model, options in ways:
            train(model, f"{at}/gan", "--steps", steps, "--lr", rate, "--seed", str(seed),
                  "--eval-batches", "0", *options)
            got = score(f"{at}/gan", f"{at}/judge")
            fid[name].append(got["fid"])
            put(part, name, seed, got["fid"], got["inception_score"], got["inception_score_real"])
    for name, x in fid.items():
        ratio = [math.log(b / a) for a, b in zip(fid["usual"], x)]
        print(f"{part}, {name}: FID {statistics.mean(x):.3f} ({min(x):.3f} to {max(x):.3f}, "
              f"deviation {statistics.stdev(x):.3f}), to usual {math.exp(statistics.mean(ratio)):.3f} "
              f"(pairs {math.exp(min(ratio)):.3f} to {math.exp(max(ratio)):.3f})")


def main():
    wanted = sys.argv[3:] or list(PARTS)
    kept = []
    if os.path.exists(TABLE):
        with open(TABLE, newline="") as file:
            kept = [row for row in csv.reader(file) if row and row[0] not in wanted + ["part"]]
    with tempfile.TemporaryDirectory() as at, open(TABLE, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["part", "way", "seed", "FID", "inception score", "of real ones", "machine",
                      "date"])
        out.writerows(kept)

        def put(*row):
            row = [f"{x:.4f}" if isinstance(x, float) else x for x in row]
            out.writerow([*row, f"{platform.machine()}, 2 cores", time.strftime("%Y-%m-%d")])
            file.flush()
            print(*row, sep="  ", flush=True)

        told = train(JUDGE, f"{at}/judge", "--steps", "600", "--lr", "3e-3", "--eval-batches", "100")
        print("judge:", told.splitlines()[-1])
        for part in wanted:
            measure(part, at, put)


main()
