#!/usr/bin/env python3
"""Pipeline schedules both ways between pleat and torch.distributed.pipelining (2.15): bench/torch/schedules.py [PLEAT]

Each schedule of pleat is written as PyTorch's compute_only file, read by torch, checked and lowered to messages by it, and
played by its simulator, which refuses deadlocks. Each schedule of torch that is built without devices is read by pleat,
checked, and written again with the same passes. Run it with the interpreter of bench/torch/setup.sh; all names with an
underscore are torch's own, and may change."""
import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from torch.distributed.pipelining import schedules as t

here = pathlib.Path(__file__).parent
pleat = sys.argv[1] if len(sys.argv) > 1 else str(here.parent.parent / "build/release/pleat")


class Stage:
    """What schedules ask of a stage before they run."""

    def __init__(self, rank, ranks, stages, index):
        self.is_first, self.is_last = index == 0, index == stages - 1
        self.num_stages, self.group_size, self.group_rank = stages, ranks, rank
        self.group, self.stage_index, self.submod = None, index, None
        self.device, self.has_backward = torch.device("cpu"), True
        self.stage_index_to_group_rank = None
        self.inputs_meta, self.dw_builder = None, None


def read(text):
    rows = csv.reader(io.StringIO(text))
    return {rank: [t._Action.from_str(cell) for cell in row] for rank, row in enumerate(rows)}


def passes(order):
    return [[str(s) for a in row if a for s in (a.sub_actions or [a])] for row in order.values()]


def to_torch(name, ranks, micro, folder):
    path = folder / f"{name}.csv"
    done = subprocess.run([pleat, "schedule", name, "--ranks", str(ranks), "--micro", str(micro), "-o", str(path), "--json"],
                          check=True, capture_output=True, text=True)
    stages = json.loads(done.stdout)["stages"]
    actions = read(path.read_text())
    rank_of = t._validate_schedule(actions, ranks, stages, micro).__getitem__
    lowered = t._add_send_recv({r: [a for a in row if a] for r, row in actions.items()}, rank_of, stages)
    steps = t._simulate_comms_compute(lowered, rank_of, stages)
    return stages, max(len(row) for row in steps.values())


def from_torch(kind, ranks, per_rank, micro, folder):
    stages = ranks * per_rank
    made = kind([Stage(0, ranks, stages, i * ranks) for i in range(per_rank)], micro)
    path = folder / f"{kind.__name__}.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["" if a is None else str(a) for a in made.pipeline_order[r]] for r in range(ranks)])
    back = folder / "back.csv"
    subprocess.run([pleat, "schedule", "--csv", str(path), "-o", str(back)], check=True, capture_output=True)
    assert passes(read(back.read_text())) == passes(made.pipeline_order), f"{kind.__name__} reads as something else"
    return stages


def compare(name, kind, ranks, micro, folder):
    """The same rows as torch's own."""
    made = kind([Stage(0, ranks, 2 * ranks, i) for i in (0, 2 * ranks - 1)], micro)
    path = folder / "same.csv"
    subprocess.run([pleat, "schedule", name, "--ranks", str(ranks), "--micro", str(micro), "-o", str(path)], check=True,
                   capture_output=True)
    return passes(read(path.read_text())) == passes(made.pipeline_order)


def main():
    print("torch", torch.__version__)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for schedule in ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zbv", "dualpipev", "search"):
            for ranks, micro in ((2, 4), (4, 8), (4, 9), (8, 32), (16, 64)):
                stages, steps = to_torch(schedule, ranks, micro, folder)
                print(f"pleat's {schedule}, {ranks} ranks, {micro} micro-batches: torch plays it in {steps} turns")
        for kind, per_rank in ((t.ScheduleInterleaved1F1B, 2), (t.ScheduleLoopedBFS, 2),
                               (t.ScheduleInterleavedZeroBubble, 2), (t.ScheduleZBVZeroBubble, 2),
                               (t.ScheduleDualPipeV, 2)):
            for ranks, micro in ((2, 4), (4, 8), (8, 32)):
                from_torch(kind, ranks, per_rank, micro, folder)
                print(f"torch's {kind.__name__}, {ranks} ranks, {micro} micro-batches: the same passes")
        for name, kind in (("zbv", t.ScheduleZBVZeroBubble), ("dualpipev", t.ScheduleDualPipeV)):
            for ranks, micro in ((2, 4), (4, 8), (4, 9), (8, 32)):
                same = compare(name, kind, ranks, micro, folder)
                print(f"{name}, {ranks} ranks, {micro} micro-batches: {'the same rows as' if same else 'other rows than'} torch's")


main()
