#!/bin/sh
# How much of the gradient messages does computing hide? Trains GPT-2 data parallel on two ranks, with
# small buckets (messages start during the backward pass) and with one bucket (they start after it).
#   bench/overlap.sh [PLEAT] [MODEL] [STEPS]
set -eu
pleat=${1:-build/pleat}
model=${2:-gpt2:layers=6,hidden=512,heads=8,vocab=8192,seq=128,batch=8,dropout=0}
steps=${3:-6}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# One row: transport, bucket, then what the run tells of its messages.
measure() {
    transport=$1 bucket=$2 devices=""
    shift 2
    if [ "$transport" = threads ]; then devices="--devices 2"; fi
    # shellcheck disable=SC2086 # devices is two words or none
    "$@" train "$model" $devices --data synthetic --steps "$steps" --clip 0 --eval-batches 0 --threads 1 \
        --bucket "$bucket" 2>&1 >/dev/null |
        awk -v t="$transport" -v b="$bucket" -v steps="$steps" '
            $NF ~ /^messages?$/ { messages = $(NF - 1) }
            / steps in / {
                seconds = $4
                for (i = 1; i < NF; i++) {
                    if ($i == "way") way = $(i + 1)
                    if ($i == "waited") waited = $(i + 1)
                }
            }
            END { printf "%-8s %-8s %8d %10.3f %12.3f %14.3f %9.0f%%\n", t, b, messages,
                  seconds / steps, way / steps, waited / steps, (way > waited ? 100 * (1 - waited / way) : 0) }'
}

echo "$model, $steps steps on 2 ranks with 1 thread each; seconds per step"
printf '%-8s %-8s %8s %10s %12s %14s %10s\n' transport bucket messages step "under way" "compute waits" hidden
for round in 1 2; do
    for bucket in 1TiB 4MiB; do
        measure threads $bucket "$pleat"
        if command -v mpirun >/dev/null; then
            measure mpi $bucket mpirun --oversubscribe --bind-to none -n 2 "$pleat"
        fi
    done
done
