#!/bin/sh
# How near the search comes to its bound where memory binds: bench/caps.sh [CAPS] writes CSV to stdout, a
# row per model, cluster and cap (20 of each); caps/caps.c says what the columns are. BUILD says where
# the program is built (build/release).
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
caps=${1:-20}
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >&2
cmake --build "$build" --target pleat bench-caps >&2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

echo "model,cluster,cap_bytes,step_seconds,bound_seconds,gap,seconds"
for model in gpt2:hidden=1600,heads=25,layers=48 gpt2:hidden=1600,heads=25,layers=192 t5-large:batch=16 \
    moe:layers=4,hidden=512,experts=16,tokens=1024,batch=64 resnet50:batch=256; do
    for cluster in 2x8xv100 8x8xa100-80gb 8x8xh100; do
        "$build/pleat" plan "$model" --cluster "$cluster" --problem "$tmp/problem" > "$tmp/out" 2>&1
        "$build/bench-caps" "$tmp/problem" "$caps" | sed "s/^/\"$model\",$cluster,/"
    done
done
