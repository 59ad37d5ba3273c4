#!/bin/sh
# How long ranks take that are threads where there are fewer cores, and others want these, too; as CSV on stdout:
# bench/crowded.sh. PLEAT is the program (build/pleat), BEFORE another one that each command is timed with in turn (or
# none), ROUNDS how often (3; the least counts), BUSY how many loops run beside ("0 2").
set -eu
cd "$(dirname "$0")/.."
pleat=${PLEAT:-build/pleat}
before=${BEFORE:-}
rounds=${ROUNDS:-3}
tmp=$(mktemp -d)
loops=""
end() {
    # shellcheck disable=SC2086 # several
    [ -z "$loops" ] || kill $loops 2> /dev/null
    rm -rf "$tmp"
}
trap end EXIT

# PROGRAM DEVICES MODEL STRATEGY STEPS: "seconds processor_seconds" of one run
run_once() {
    /usr/bin/time -f "%e %U %S" -o "$tmp/time" "$1" train "$3" --data synthetic --threads 1 --eval-batches 0 \
        --devices "$2" --strategy "$4" --steps "$5" > "$tmp/out" 2> "$tmp/err"
    awk '{ print $1, $2 + $3 }' "$tmp/time"
}

least() {
    for _ in $(seq "$rounds"); do run_once "$@"; done | sort -n | head -1
}

row() {
    old=""
    [ -z "$before" ] || old=$(least "$before" "$@")
    new=$(least "$pleat" "$@")
    echo "$busy,$1,\"$2\",\"$3\",$4,${old% *},${old#* },${new% *},${new#* }"
}

echo "busy,ranks,model,strategy,steps,before_seconds,before_cpu_seconds,seconds,cpu_seconds"
for busy in ${BUSY:-0 2}; do
    for _ in $(seq "$busy"); do
        while :; do :; done &
        loops="$loops $!"
    done
    row 2 gpt2:layers=4,hidden=48,heads=4,vocab=256,seq=32,batch=4 zero=3 40
    row 4 mlp:layers=3,in=12,hidden=20,classes=5,batch=18 zero=3 100
    row 4 gpt2:layers=4,hidden=48,heads=4,vocab=256,seq=32,batch=4 tp=4 40
    row 8 gpt2:layers=4,hidden=64,heads=8,vocab=256,seq=32,batch=8 zero=3,tp=2,sp 20
done
