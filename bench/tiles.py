#!/usr/bin/env python3
"""What 16-bit products lose to the tiles of a matrix unit, and what merging those that share an
operand would save: bench/tiles.py [PLEAT] > bench/tiles.csv. It depends on no machine.

  plan    the share of zeros in all products of a training step under dp, as the forecast counts it
  merged  in the forward pass of one device's batch: the share of zeros as it is, and if all products
          with the same left operand, or the same right one, were one product wherever that helps
"""
import collections, json, math, re, subprocess, sys

PLEAT = sys.argv[1] if len(sys.argv) > 1 else "build/pleat"
MODELS = (("biggan", 64), ("sngan", 8), ("dcgan", 16))  # pictures on each of 8 devices
CLUSTERS = (("8xa100", 8, 8), ("bench/tpu_v3.yaml", 8, 128))


def run(*args):
    return subprocess.run([PLEAT, *args], text=True, stdout=subprocess.PIPE, check=True).stdout


def up(n, tile):
    return -(-n // tile) * tile


def computed(m, n, k, taps, rows, columns):
    return taps * up(k, columns) * min(up(m, rows) * up(n, columns), up(m, columns) * up(n, rows))


# (what makes products alike but for an operand, operands, name, (m, n, k, taps)) of each product
def products(model):
    shape, found = {}, []
    for line in run("graph", model, "--text", "--forward").splitlines():
        made, _, node = line.partition(" = ") if line.startswith("forward") else (line, "", "")
        made = re.findall(r"(\S+) (\w+)\[([\d,]*)\]", made)
        shape |= {name: (kind, [int(x) for x in dims.split(",") if x]) for name, kind, dims in made}
        text = re.match(r'(einsum|conv2d\w*) "([^";]*)[^"]*" (\S+) (\S+)$', node)
        if not text or shape[text[3]][0] != "bf16":
            continue
        op, signature, left, right = text.groups()
        parts = [re.findall(r"\[.*?\]|\w", x) for x in re.split(",|->", signature)]
        size = {}
        for dims, value in zip(parts, (left, right, made[0][0])):
            size |= {d: n for d, n in zip(dims, shape[value][1]) if len(d) == 1}
        taps = set(re.findall(r"\+(\w)", signature))
        in_left, in_right, out = ({x for d in dims for x in d if x.isalpha()} for dims in parts)
        times = lambda letters: math.prod(size.get(x, 1) for x in letters)
        mnk = (times(in_left & out - in_right - taps), times(in_right & out - in_left - taps),
               times((in_left | in_right) - out - taps), times(taps))
        found.append(((op, signature, *mnk[2:]), (left, right), made[0][0], mnk))
    return found


def merged(found, rows, columns):
    saved = 0
    for side in (0, 1):
        groups = collections.defaultdict(list)
        for alike, operands, _, mnk in found:
            groups[alike, operands[side]].append(mnk)
        for same in groups.values():
            one = [sum(x[1 - side] for x in same) if i == 1 - side else same[0][i]
                   for i in range(4)]
            saved += max(0, sum(computed(*x, rows, columns) for x in same) -
                         computed(*one, rows, columns))
    return saved


print("what,model,cluster,zeros_percent,merged_percent")
for model, batch in MODELS:
    found = products(f"{model}:dtype=bf16,batch={batch}")
    asked = sum(math.prod(x[3]) for x in found)
    for cluster, rows, columns in CLUSTERS:
        tiles = json.loads(run("plan", f"{model}:dtype=bf16,batch={8 * batch}", "--cluster", cluster,
                               "--strategy", "dp", "--json"))["predicted"]["tiles"]
        print(f"plan,{model},{cluster},{100 * (1 - tiles['flops'] / tiles['filled_flops']):.2f},")
        all = sum(computed(*x[3], rows, columns) for x in found)
        zeros = lambda n: f"{100 * (1 - asked / n):.2f}"
        print(f"merged,{model},{cluster},{zeros(all)},{zeros(all - merged(found, rows, columns))}")
