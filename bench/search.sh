#!/bin/sh
# How long the search of a plan takes, as CSV on stdout: bench/search.sh [SET ...] with sets
#   depth    GPT-2 of 12 to 192 layers, 1x8 and 8x8: folded, tied, and as an integer program
#   classes  ResNet-50 with 1 K to 1 M classes (TAPAS): the same
#   t5       T5-large of 4 to 96 layers (TAPAS)
#   large    LLaMA-3 8B and GPT-39B on 64 devices
#   methods  every method of planners/planner.h on some of them
# BUILD says where the programs are built (build/release), ILP how many seconds CBC may take per row
# (300; it looks at its clock rarely), COLUMNS how large its program may be. Sets that name a model
# that this build does not have end with its message.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
ilp=${ILP:-300}
columns=${COLUMNS:-600000}
[ $# -gt 0 ] || set -- depth classes t5 large methods
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >&2
cmake --build "$build" --target bench-search >&2

# All rows of a set under one heading.
search() {
    "$build/bench-search" "$@"
}

depth() {
    rows=""
    for layers in 12 24 48 96 192; do
        rows="$rows gpt2:hidden=1600,heads=25,layers=$layers,batch=64"
    done
    # shellcheck disable=SC2046,SC2086 # a list of words
    search --axes 1 --unfolded --ilp "$ilp" --columns "$columns" $(pairs 1x8xv100 $rows)
    # shellcheck disable=SC2046,SC2086
    search --unfolded --ilp "$ilp" --columns "$columns" $(pairs 8x8xa100-80gb $rows)
}

classes() {
    rows=""
    for n in 1000 10000 100000 1000000; do rows="$rows resnet50:classes=$n,batch=64"; done
    # shellcheck disable=SC2046,SC2086
    search --axes 1 --unfolded --ilp "$ilp" --columns "$columns" $(pairs 1x8xv100-32gb $rows)
    # shellcheck disable=SC2046,SC2086
    search --unfolded --ilp "$ilp" --columns "$columns" $(pairs 2x8xv100-32gb $rows)
}

t5() {
    rows=""
    for layers in 4 8 16 24 48 96; do rows="$rows t5-large:layers=$layers,batch=64"; done
    # shellcheck disable=SC2046,SC2086
    search --axes 1 --unfolded --ilp "$ilp" --columns "$columns" $(pairs 1x8xv100-32gb $rows)
    # shellcheck disable=SC2046,SC2086
    search --unfolded --ilp "$ilp" --columns "$columns" $(pairs 8x8xa100-80gb $rows)
}

large() {
    gpt=gpt2:hidden=8192,heads=64,layers=48,vocab=51200,batch=64,dtype=bf16
    search --memory device --unfolded llama3-8b:batch=64,seq=4096,dtype=bf16 8x8xa100-80gb "$gpt" 8x8xa100-80gb
}

methods() {
    search --methods gpt2:hidden=1600,heads=25,layers=12,batch=64 2x8xv100 \
        gpt2:hidden=1600,heads=25,layers=48,batch=64 8x8xa100-80gb \
        resnet50:classes=100000,batch=64 2x8xv100-32gb mlp:layers=4,hidden=4096,batch=512 8xk80
}

# CLUSTER MODEL ...: "MODEL CLUSTER" of each
pairs() {
    cluster=$1
    shift
    for model in "$@"; do echo "$model $cluster"; done
}

for set in "$@"; do
    case $set in
        depth | classes | t5 | large | methods) $set ;;
        *)
            echo "bench/search.sh: no set '$set'; there are depth classes t5 large methods" >&2
            exit 2
            ;;
    esac
done
