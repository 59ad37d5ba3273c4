"""Training on several ranks of one machine: pleat against PyTorch over gloo.

  dp     --strategy dp       DistributedDataParallel    batch 4 on each rank
  zero3  --strategy zero=3   fully_shard (FSDP2)        batch 4 on each rank
  tp     --strategy tp=N     parallelize_module         batch 4 in all

Both sides start from pleat's initial weights, read the same rows and use the same optimizer, so the
losses of every step must agree to --limit: exit status 6 if not, 1 if a side failed. Each
measurement is a run of its own; the sides take turns. The first steps of each run are dropped, of
all others the least and the median are kept. Peak memory is that of the largest rank; ranks of
pleat-threads share one process, so theirs is its peak divided by the ranks. Results are printed
with ratios pleat / PyTorch (the best of its sides in each figure): below 1, pleat is faster or
smaller. They are also appended to --out, where pleat's rows have PyTorch / pleat, as all others.
"""

import argparse
import datetime
import json
import os
import statistics
import sys
import tempfile
import time

import pleat
import speed

CASES = {name: speed.CASES[name][1] for name in ("gpt2", "gpt2-tiny")}
STRATEGIES = {"dp": "dp", "zero3": "zero=3", "tp": "tp={ranks}"}
SIDES = ["pleat-threads", "pleat-mpi", "torch-tuned", "torch-stock"]
BATCH = 4

# On norms of gradients, to find a sum taken for a mean. PyTorch adds the squares of the table, 38
# million, in f32: its own norm was seen 1.4e-3 from that in f64 (pleat's 1e-6).
NORM_LIMIT = 1e-2


def keys_of(case, mode, ranks):
    return {**CASES[case], "batch": BATCH if mode == "tp" else BATCH * ranks}


def threads_of(ranks):
    return max(1, len(os.sched_getaffinity(0)) // ranks)


def settings_of(a):
    return {**pleat.SETTINGS, "steps": a.drop + a.steps, "clip": a.clip}


def command_of(side, case, mode, ranks, folder, a):
    """The command of one run, and what it adds to the environment."""
    keys, threads, s = keys_of(case, mode, ranks), threads_of(ranks), settings_of(a)
    env = {"OMP_NUM_THREADS": str(threads)}
    if side.startswith("torch"):
        step = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parallel_step.py")
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node", str(ranks), step, json.dumps(keys), "--mode", mode]
        command += ["--settings", json.dumps(s), "--weights", folder, "--threads", str(threads)]
        command += ["--text", a.text] if a.text else []
        if side == "torch-tuned":
            command.append("--tuned")
            env.update(speed.KEEP_MEMORY)
        return command, env
    more = ["--timings", "--strategy", STRATEGIES[mode].format(ranks=ranks)]
    if side == "pleat-threads":
        more += ["--devices", str(ranks)]
    command = pleat.command(a.pleat, "gpt2", keys, a.text or "synthetic", s, threads, *more)
    if side == "pleat-mpi":
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        command = [*a.mpirun.split(), "-n", str(ranks), *command]
    return command, env


def told(env, command, folder):
    env = {k: v for k, v in env.items() if not k.startswith("OMPI_ALLOW")}
    return speed.told(env, ["CHECKPOINT" if x == folder else x for x in command])


def run(side, setup, folder, a, all_of):
    """One run; adds its figures to all_of[side]. False if it failed."""
    case, mode, ranks = setup
    command, env = command_of(side, case, mode, ranks, folder, a)
    title = f"  {case} {mode}, {ranks} ranks, {side}"
    try:
        lines, peak = pleat.run(command, env)
    except SystemExit as e:
        print(f"{title}: {e}", file=sys.stderr, flush=True)
        return False
    steps = [x for x in lines if "seconds" in x and "done" not in x]
    about = lines[-1] if "gflops" in lines[-1] else {}
    if side == "pleat-threads":
        peak /= ranks
    got = all_of.setdefault(
        side, {"seconds": [], "peak": 0, "imported": 0, "gflops": [], "runs": [], "version": ""}
    )
    seconds = [x["seconds"] for x in steps][a.drop :]
    got["command"] = told(env, command, folder)
    got["seconds"] += seconds
    got["runs"].append(steps)
    got["peak"] = max(got["peak"], about.get("peak_mib", peak))
    got["imported"] = about.get("imported_mib", 0)
    got["gflops"] += [about["gflops"]] if about else []
    got["version"] = about.get("torch", a.version)
    print(
        f"{title}: {' '.join(f'{x:.3f}' for x in seconds)} s, "
        f"{', '.join(map(str, about.get('peaks_mib', [round(peak)])))} MiB"
        + (f", matrix product {about['gflops']:.0f} GF/s" if about else ""),
        file=sys.stderr,
        flush=True,
    )
    return True


def apart(what, runs, truth):
    """The largest relative difference of any step's loss or grad_norm; infinite if not a number."""
    pairs = [(x[what], y[what]) for steps in runs for x, y in zip(steps, truth, strict=True)]
    ratios = [abs(x - y) / abs(y) for x, y in pairs]
    return max(ratios) if all(x == x for x in ratios) else float("inf")


def figures(got):
    return min(got["seconds"]), statistics.median(got["seconds"]), got["peak"]


def peer_of(all_of):
    """The best of PyTorch's sides in each figure, or None if none was measured."""
    theirs = [figures(got) for side, got in all_of.items() if side.startswith("torch")]
    return [min(x) for x in zip(*theirs)] or None


def rows_of(setup, all_of, load):
    case, mode, ranks = setup
    fixed = {
        "date": datetime.date.today().isoformat(),
        "cpu": speed.cpu_name(),
        "cores": os.cpu_count(),
        "load": f"{load:.1f}",
        "case": f"{case} {mode} ranks={ranks}",
        "threads": threads_of(ranks),
    }
    gflops = [x for got in all_of.values() for x in got["gflops"]]
    if gflops:
        fixed.update(gflops_least=f"{min(gflops):.0f}", gflops_most=f"{max(gflops):.0f}")
    peer = peer_of(all_of)
    for side, got in all_of.items():
        least, middle, peak = figures(got)
        row = {
            **fixed,
            "side": side,
            "steps_timed": len(got["seconds"]),
            "min_s": f"{least:.4f}",
            "median_s": f"{middle:.4f}",
            "peak_mib": f"{peak:.0f}",
            "imported_mib": f"{got['imported']:.0f}",
            "version": got["version"],
            "command": got["command"],
        }
        if peer and side.startswith("pleat"):
            ratios = [x / y for x, y in zip(peer, figures(got))]
            names = "min_ratio", "median_ratio", "peak_ratio"
            row.update({k: f"{x:.2f}" for k, x in zip(names, ratios)})
        yield row


HEAD = ["case", "mode", "ranks", "threads", "side", "least s", "median s", "MiB/rank"]
HEAD += ["least ratio", "median ratio", "MiB ratio", "losses apart", "norms apart"]


def lines_of(setup, all_of, a):
    """A line of the table per side, and whether what the side computed is near enough."""
    case, mode, ranks = setup
    peer = peer_of(all_of)
    first = min(all_of, key=lambda side: side.startswith("pleat"))  # PyTorch if it is there
    limits = {"loss": a.limit}
    if a.clip > 0:
        limits["grad_norm"] = NORM_LIMIT
    for side, got in all_of.items():
        least, middle, peak = figures(got)
        line = [case, mode, str(ranks), str(threads_of(ranks)), side]
        line += [f"{least:.3f}", f"{middle:.3f}", f"{peak:.0f}"]
        if peer and side.startswith("pleat"):
            line += [f"{x / y:.2f}" for x, y in zip(figures(got), peer)]
        else:
            line += [""] * 3
        near = True
        for what, limit in limits.items():
            far = apart(what, got["runs"], all_of[first]["runs"][0])
            line.append(f"{far:.1e}" + ("" if far <= limit else " TOO FAR"))
            near = near and far <= limit
        yield line + [""] * (len(HEAD) - len(line)), near


def finish(results, a):
    """Prints the table and appends the rows; do all sides agree?"""
    table, ok = [HEAD], True
    for setup, (all_of, load) in results.items():
        if not all_of:
            continue
        speed.write(a.out, rows_of(setup, all_of, load))
        for line, near in lines_of(setup, all_of, a):
            table.append(line)
            ok = ok and near
    width = [max(len(line[i]) for line in table) for i in range(len(HEAD))]
    for line in table:
        print("  ".join(x.ljust(w) for x, w in zip(line, width)).rstrip())
    return ok


def measure(setups, sides, folder, a, results):
    """Round after round while there is time; every setup has one. Did every run succeed?"""
    start, took, ok = time.monotonic(), {}, True
    for turn in range(a.rounds):
        for setup in setups:
            now = time.monotonic()
            if turn and now - start + took[setup] > 60 * a.minutes:
                print(
                    f"  {' '.join(map(str, setup))}: no time for round {turn + 1}", file=sys.stderr
                )
                continue
            all_of, _ = results.setdefault(setup, ({}, os.getloadavg()[0]))
            ok = all([run(side, setup, folder[setup[0]], a, all_of) for side in sides]) and ok
            took[setup] = time.monotonic() - now
    return ok


def save_weights(case, parent, a):
    folder = os.path.join(parent, case)
    s = {**settings_of(a), "steps": 0}
    pleat.run(pleat.command(a.pleat, "gpt2", CASES[case], "synthetic", s, 1, "--save", folder))
    return folder


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("cases", nargs="*", metavar="CASE", help=f"{' or '.join(CASES)}; default: gpt2")
    p.add_argument("--pleat", default="build/pleat", help="the binary")
    p.add_argument("--modes", default="dp,zero3,tp", help="each of these")
    p.add_argument("--ranks", default="2,4", help="each of these")
    p.add_argument("--sides", default=",".join(SIDES[:3]), help=f"of: {', '.join(SIDES)}")
    p.add_argument("--rounds", type=int, default=2, help="runs of each side")
    p.add_argument("--steps", type=int, default=4, help="timed steps of a run")
    p.add_argument("--drop", type=int, default=1, help="steps before them")
    p.add_argument("--minutes", type=float, default=15, help="no second round that would end later")
    p.add_argument("--limit", type=float, default=1e-4, help="on relative differences of losses")
    p.add_argument("--clip", type=float, default=0, help="above 0: norms are compared too")
    p.add_argument("--text", metavar="FILE", help="what to learn; default: synthetic tokens")
    p.add_argument(
        "--mpirun",
        default="mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1",
        help="what starts pleat's MPI ranks",
    )
    p.add_argument("--out", default="bench/results.csv")
    a = p.parse_args()
    a.cases, a.modes, a.sides = a.cases or ["gpt2"], a.modes.split(","), a.sides.split(",")
    allowed = {*CASES, *STRATEGIES, *SIDES}
    wrong = [x for x in a.cases + a.modes + a.sides if x not in allowed]
    if wrong:
        p.error(f"unknown: {', '.join(wrong)}")
    return a


def main():
    a = options()
    a.version = pleat.version(a.pleat)
    setups = [
        (case, mode, ranks)
        for case in a.cases
        for ranks in map(int, a.ranks.split(","))
        for mode in a.modes
    ]
    results, ran, equal = {}, False, False
    with tempfile.TemporaryDirectory() as parent:
        folder = {case: save_weights(case, parent, a) for case in a.cases}
        try:
            ran = measure(setups, a.sides, folder, a, results)
        finally:  # what was measured is kept, however it ended
            equal = finish(results, a)
    sys.exit(6 if not equal else 0 if ran else 1)


if __name__ == "__main__":
    main()
