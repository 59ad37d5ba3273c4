#!/usr/bin/env python3
"""Where hundreds of tables of embeddings go: pleat's plans beside those of the greedy planner in
HugeCTR's benchmark of embedding collections (NVIDIA-Merlin/HugeCTR, benchmarks, 2023), on its four
instances. Costs are in HugeCTR's own model, in units of 1e9; times of a step are pleat's forecasts.
From the top of the tree:

    bench/hugectr.py [build/pleat] > bench/hugectr.csv

The model. A table has R rows, H ids in a row of the batch and vectors of E numbers. It is split r
times by rows and c times by columns; its shards lie on as many of the N devices. With batch B, a
device looks up for 4 B sum(H/r E/c) and communicates for 80 B sum(E/c), the sums over its shards; a
plan costs what the device costs that has most of both. At most 60 GiB of weights lie on a device.

greedy: the better of its two modes, with splits by rows alone and by rows and columns; seconds are
those of both here, in plain Python (the original uses numpy). bound: no plan of that model costs
less; all devices cost the same, and no table is split by rows.

pleat's plans also have copies, which the model does not know. Here k copies share the batch: each
looks up and sends for B/k rows of it. A table that is whole on every device sends nothing, for a
device looks up only its own part of the batch; so pleat's cost can be below the bound. A number of
a small table that is gathered before it is read costs 80. Tables that stand in one may be split by
tables; the first device has the part rounded up. Memory is that of the weights of tables, for both.
pleat_seconds are those of the whole command; gap is how far the search may be from the least of its
own cost, which also counts ids, gradients, updates and links.

embrace, row-wise and table-wise are layouts of the same model; one that does not fit has no time.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

RUNS = [(f"dcn-hugectr-{i}", f"{j}x8xa100-80gb") for i in (7, 180, 200, 510) for j in (8, 4)]
LAYOUTS = ("embrace", "row-wise", "table-wise")
LOOKUP, MESSAGE = 4, 80  # costs of a number: 8/2 and 2000/25, the benchmark's defaults
CAPACITY = 60 * 2**30  # bytes of a device
BYTES = 4  # of a number, with SGD
ROUNDS = 20  # placements that greedy tries in one mode, those that do not fit counted
LEAST_WIDTH = 32  # narrower columns are not made

Table = namedtuple("Table", "rows hot width")


def instances(pleat):
    """Name -> tables, batch; as `pleat models dcn` tells."""
    c = [pleat, "models", "dcn"]
    text = subprocess.run(c, capture_output=True, text=True, check=True).stdout
    found = {}
    for name, keys in re.findall(r"^ +(dcn-hugectr-\d+) .*: (\S+)$", text, re.M):
        key = dict(k.split("=") for k in keys.split(","))
        sizes = key["sizes"].split("-")
        hots, widths = (key[k].split("-") for k in ("hots", "embed"))
        hots, widths = (x * len(sizes) if len(x) == 1 else x for x in (hots, widths))
        tables = []
        for size, hot, width in zip(sizes, hots, widths, strict=True):
            count, _, rows = size.rpartition("x")
            tables += [Table(int(rows), int(hot), int(width))] * int(count or 1)
        found[name] = tables, int(key["batch"])
    return found


def shard_cost(table, split, lookup=LOOKUP):
    """Of a shard, for a row of the batch."""
    r, c = split
    return (lookup * table.hot / r + MESSAGE) * table.width / c


def place(tables, splits, n):
    """Costliest shards first, each on the device of least cost that has room and no other shard of
    its table. Returns the cost, the memory of each device, and the table that fits nowhere."""
    cost, memory = [0.0] * n, [0.0] * n
    for t in sorted(range(len(tables)), key=lambda t: -shard_cost(tables[t], splits[t])):
        shards = math.prod(splits[t])
        size = BYTES * tables[t].rows * tables[t].width / shards
        room = [d for d in range(n) if memory[d] + size <= CAPACITY]
        if len(room) < shards:
            return math.inf, memory, t
        for d in sorted(room, key=cost.__getitem__)[:shards]:  # all cost the same: one on each
            cost[d] += shard_cost(tables[t], splits[t])
            memory[d] += size
    return max(cost), memory, None


def split_further(tables, splits, t, n, columns):
    """Twice as many shards of table t, by what costs less; None: there are too many."""
    r, c = splits[t]
    if r * c * 2 > n:
        return None
    ways = [(2 * r, c)]
    width = tables[t].width // c
    if columns and width % 2 == 0 and width > LEAST_WIDTH:
        ways.insert(0, (r, 2 * c))  # first: where neither fits, columns send less
    choices = [splits[:t] + [way] + splits[t + 1 :] for way in ways]
    return min(choices, key=lambda s: place(tables, s, n)[0]) if len(ways) > 1 else choices[0]


def greedy(tables, n, columns):
    """The least cost for a row of the batch, and the memory of each device."""
    best = place(tables, [(n, 1)] * len(tables), n)[:2]  # every table by rows over all devices
    splits = [(1, 1)] * len(tables)
    for _ in range(ROUNDS):
        cost, memory, t = place(tables, splits, n)
        if t is None:
            best = min(best, (cost, memory))
            can = [t for t, (r, c) in enumerate(splits) if r * c * 2 <= n]
            t = max(can, key=lambda t: shard_cost(tables[t], splits[t], 1), default=None)
        splits = None if t is None else split_further(tables, splits, t, n, columns)
        if not splits:
            break
    return best


def planned(tables, batch, path):
    """The cost for a row of the batch of a plan that pleat wrote; memory, largest and mean."""
    with open(path) as f:
        plan = json.load(f)
    axis = {a["axis"]: a["size"] for a in plan["mesh"]}
    stored = {x["tensor"]: x["placement"] for x in plan["stored"]}
    cost = largest = mean = seen = 0
    for node in plan["nodes"]:
        name = re.fullmatch(r"emb_l\.(\d+)(?:-(\d+))?", node["node"])
        if not name:
            continue
        first, last = int(name[1]), int(name[2] or name[1])
        table, count = tables[first], last - first + 1
        assert set(tables[first : last + 1]) == {table}
        seen += count
        letters = node.get("split", {}).items()  # of the look-up: tables, rows, width, batch
        t, r, c, k = (math.prod(axis[a] for a, x in letters if x == y) for y in "tvhb")
        sends = MESSAGE if t * r * c > 1 else 0
        cost += math.ceil(count / t) * (LOOKUP * table.hot / r + sends) * table.width / c / k
        size = table.rows * table.width
        read = math.ceil(count / t) * size / r / c
        placement = stored.get(node["node"] + ".weight", ";;").strip("[]")
        parts = [math.prod(axis[a] for a in x.split(",") if a) for x in placement.split(";")]
        t, r, c = [1] * (3 - len(parts)) + parts
        kept = math.ceil(count / t) * size / r / c
        cost += MESSAGE * max(0, read - kept) / batch
        largest += BYTES * kept
        mean += BYTES * count / t * size / r / c
    assert seen == len(tables)
    return cost, largest, mean


def plan(pleat, model, cluster, strategy, *more):
    c = [pleat, "plan", model, "--cluster", cluster, "--strategy", strategy, "--json"]
    c += ["--optimizer", "sgd", "--momentum", "0", "--decay", "0"]  # the benchmark's
    p = subprocess.run(c + list(more), capture_output=True, text=True)
    return json.loads(p.stdout) if p.stdout else None


def layout_ms(pleat, model, cluster, strategy):
    x = plan(pleat, model, cluster, strategy)
    if not x or x["memory"]["peak_bytes"] > x["memory"]["limit_bytes"]:
        return ""
    return f"{x['predicted']['step_seconds'] * 1e3:.3f}"


def main():
    pleat = sys.argv[1] if len(sys.argv) > 1 else "build/pleat"
    found = instances(pleat)
    print(
        "instance,cluster,greedy_cost,greedy_seconds,greedy_memory_max_over_mean,bound,pleat_cost,"
        "pleat_memory_max_over_mean,pleat_seconds,gap,step_ms,embrace_ms,row_wise_ms,table_wise_ms"
    )
    for model, cluster in RUNS:
        tables, batch = found[model]
        unit = batch / 1e9
        n = math.prod(int(x) for x in cluster.split("x")[:2])
        start = time.perf_counter()
        cost, memory = min(greedy(tables, n, columns) for columns in (False, True))
        took = time.perf_counter() - start
        bound = sum(shard_cost(t, (1, 1)) for t in tables) / n
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            start = time.perf_counter()
            x = plan(pleat, model, cluster, "auto", "-o", path)
            whole = time.perf_counter() - start
            ours, largest, mean = planned(tables, batch, path)
        times = [layout_ms(pleat, model, cluster, s) for s in LAYOUTS]
        print(
            f"{model},{cluster},{cost * unit:.3f},{took:.3f},{max(memory) * n / sum(memory):.3f},"
            f"{bound * unit:.3f},{ours * unit:.3f},{largest / mean:.3f},{whole:.2f},"
            f"{x['search']['gap']:.4f},{x['predicted']['step_seconds'] * 1e3:.3f},"
            f"{','.join(times)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
