#!/bin/sh
# What gathering weights ahead of their readers is worth, and what it costs in memory: GPT-2 under
# zero=3 on two ranks, each weight gathered just before it is read (--gathers-ahead 0: no prefetch),
# within a limit, and without one. dp stands beside it.
#   bench/fsdp.sh [PLEAT] [MODEL] [STEPS]
set -eu
pleat=${1:-build/pleat}
model=${2:-gpt2:layers=6,hidden=512,heads=8,vocab=8192,seq=128,batch=8,dropout=0}
steps=${3:-6}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# One row: transport, strategy, limit, then what the run tells of memory and messages.
measure() {
    transport=$1 strategy=$2 ahead=$3 devices=""
    shift 3
    if [ "$transport" = threads ]; then devices="--devices 2"; fi
    # shellcheck disable=SC2086 # devices is two words or none
    "$@" train "$model" $devices --strategy "$strategy" --data synthetic --steps "$steps" \
        --eval-batches 0 --threads 1 --gathers-ahead "$ahead" 2>&1 >/dev/null |
        awk -v t="$transport" -v s="$strategy" -v a="$ahead" -v steps="$steps" '
            /^memory of one device/ { states = $5 " " $6; work = $9 " " $10 }
            / steps in / {
                seconds = $4
                for (i = 1; i < NF; i++) {
                    if ($i == "way") way = $(i + 1)
                    if ($i == "waited") waited = $(i + 1)
                }
            }
            END { printf "%-8s %-8s %-8s %12s %12s %8.3f %12.3f %14.3f\n", t, s, a, states, work,
                  seconds / steps, way / steps, waited / steps }'
}

echo "$model, $steps steps on 2 ranks with 1 thread each; seconds per step"
printf '%-8s %-8s %-8s %12s %12s %8s %12s %14s\n' transport strategy ahead states work step \
    "under way" "compute waits"
for round in 1 2; do
    for transport in threads mpi; do
        start=$pleat
        if [ $transport = mpi ]; then
            command -v mpirun >/dev/null || continue
            start="mpirun --oversubscribe --bind-to none -n 2 $pleat"
        fi
        # shellcheck disable=SC2086 # start is several words
        measure $transport dp 0 $start
        for ahead in 0 8MiB 1TiB; do
            # shellcheck disable=SC2086
            measure $transport zero=3 $ahead $start
        done
    done
done
