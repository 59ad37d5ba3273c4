#!/bin/sh
# How long people wait for a plan: whole commands, as CSV on stdout: bench/command.sh [SET ...]
#   depth    GPT-2 of width 1600 and 12 to 192 layers
#   devices  LLaMA-3 8B on 8 to 16,384 devices, searched and with a strategy
#   large    LLaMA-3 70B and 405B on 16,384 devices, with a strategy and searched
#   tight    models that fit where blocks are recomputed
#   few      models of a few blocks below such caps
#   hosted   models that fit where states lie in the host's memory
#   numbers  models that fit in one of many numbers of micro-batches
#   stages   with pipelines (-O 3)
# PLEAT is the program (build/pleat), BEFORE another one that each command is timed with in turn (or none), ROUNDS how
# often (3; the least counts), LIMIT after how many seconds a command is given up (100).
set -eu
cd "$(dirname "$0")/.."
pleat=${PLEAT:-build/pleat}
before=${BEFORE:-}
rounds=${ROUNDS:-3}
limit=${LIMIT:-100}
[ $# -gt 0 ] || set -- depth devices large tight few hosted numbers stages
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# PROGRAM ARGUMENTS: "seconds MiB" of one run; nothing where it was given up.
run_once() {
    if /usr/bin/time -f "%e %M" -o "$tmp/time" timeout "$limit" "$@" > "$tmp/out" 2> "$tmp/err"; then
        awk '{ printf "%s %.0f\n", $1, $2 / 1024 }' "$tmp/time"
    fi
}

least() {
    for _ in $(seq "$rounds"); do run_once "$@"; done | sort -n | head -1
}

# SET MODEL CLUSTER [OPTION ...]: a row
row() {
    set_name=$1 model=$2 cluster=$3
    shift 3
    old=""
    [ -z "$before" ] || old=$(least "$before" plan "$model" --cluster "$cluster" "$@")
    new=$(least "$pleat" plan "$model" --cluster "$cluster" "$@")
    run_once "$pleat" plan "$model" --cluster "$cluster" "$@" --json > "$tmp/once"
    figures=$(awk 'function number(name) { return match($0, "\"" name "\": [0-9.e-]+") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) : "" }
        { printf "%s,%s,%s", number("gap") == "" ? "" : number("seconds"), number("gap"), number("step_seconds") }' "$tmp/out")
    echo "$set_name,\"$model\",$cluster,\"$*\",${old% *},${old#* },${new% *},${new#* },$figures"
}

depth() {
    for cluster in 2x8xv100 8x8xa100-80gb; do
        for layers in 12 24 48 96 192; do
            row depth "gpt2:hidden=1600,heads=25,layers=$layers" "$cluster"
        done
    done
}

devices() {
    for nodes in 1 8 128 2048; do row devices llama3-8b:seq=2048 "${nodes}x8xh100"; done
    for nodes in 8 128 512 2048; do
        row devices llama3-8b:seq=2048 "${nodes}x8xh100" --strategy zero=3,tp=8,sp
    done
}

large() {
    row large llama3-70b:seq=2048,batch=4096 2048x8xh100 --strategy zero=3,tp=8,sp
    row large llama3-405b:seq=2048,batch=4096 2048x8xh100 --strategy zero=3,tp=8,sp
    row large llama3-70b:seq=2048,batch=4096 2048x8xh100
    row large llama3-405b:seq=2048,batch=4096 2048x8xh100
    for model in 8b:batch=16384,seq=8192 70b:batch=4096,seq=4096 405b:batch=2048,seq=8192; do
        row large "llama3-$model,dtype=bf16" 2048x8xh100
    done
}

tight() {
    row tight llama3-70b:batch=64,seq=4096,dtype=bf16 8x8xh100
    row tight llama3-405b:batch=512,seq=4096,dtype=bf16 64x8xh100
    row tight gpt3-175b:batch=64,seq=2048,dtype=bf16 8x8xa100-80gb
    row tight mixtral-8x7b:batch=32,seq=4096,dtype=bf16 4x8xh100
    row tight llama3-70b:batch=1024,seq=8192,dtype=bf16 8x8xh100
    row tight llama3-405b:batch=1024,seq=8192,dtype=bf16 64x8xh100
    row tight llama3-70b:batch=8,seq=131072,dtype=bf16 8x8xh100
    row tight gpt2:hidden=1600,heads=25,layers=192,seq=1024,batch=64,dropout=0 2x8xv100
    row tight gpt2:hidden=512,heads=8,layers=44,vocab=1000,seq=256,batch=64,dropout=0 2x8xv100 --memory 500MB
}

few() {
    row few moe:layers=4,hidden=512,experts=16,tokens=1024,batch=64 2x8xv100 --memory 1GB
    row few moe:layers=4,hidden=512,experts=16,tokens=1024,batch=64 2x8xv100 --memory 1500MB
    row few gpt2:layers=4,batch=64,seq=1024 2x8xv100 --memory 1500MB
    row few t5-large:layers=4,batch=64 2x8xv100 --memory 1500MB
    row few bert-large:layers=6,batch=256 2x8xv100 --memory 2GB
    row few bert-large:layers=4,batch=256 8x8xv100 --memory 500MB
    row few mixtral-8x7b:layers=4,batch=64,seq=4096,dtype=bf16 2x8xh100 --memory 12GB
}

hosted() {
    row hosted gpt2:layers=50,hidden=4096,heads=32,vocab=50304,batch=512,dropout=0,dtype=bf16 bench/one_v100.yaml
    row hosted llama3-8b:batch=64,seq=4096,dtype=bf16 1x1xh100
    row hosted llama3-8b:batch=64,seq=4096,dtype=bf16 1x8xv100
    row hosted llama3-70b:batch=64,seq=4096,dtype=bf16 1x8xh100
}

numbers() {
    row numbers t5-large:batch=256 1x8xv100
    row numbers llama3-8b:seq=8192,batch=64 1x8xh100
    row numbers gpt2:seq=1024,batch=256 1x1xv100
    row numbers bert-large:batch=1024 1x4xv100
    row numbers llama3-405b:seq=4096,batch=512 64x8xh100
}

stages() {
    row stages gpt-39b 8x8xv100 -O 3
    row stages llama3-70b:batch=64,seq=4096,dtype=bf16 8x8xh100 -O 3
    row stages llama3-405b:batch=512,seq=4096,dtype=bf16 64x8xh100 -O 3
    row stages llama3-405b:batch=1024,seq=8192,dtype=bf16 128x8xh100 -O 3
    row stages llama3-405b:seq=2048,batch=4096 2048x8xh100 -O 3
    row stages llama3-405b:batch=2048,seq=8192,dtype=bf16 2048x8xh100 -O 3
    row stages gpt2-xl:batch=64 2x8xv100 -O 3
    row stages gpt-39b:batch=1024,dtype=bf16 8x8xv100-32gb -O 3
    row stages gpt3-175b:batch=64,seq=2048,dtype=bf16 8x8xa100-80gb -O 3
}

echo "set,model,cluster,options,before_seconds,before_mib,seconds,mib,search_seconds,gap,step_seconds"
for name; do "$name"; done
