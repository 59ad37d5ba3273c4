#!/bin/sh
# Is the plan that is found as good as every published layout? bench/quality.sh [SET ...] writes CSV to
# stdout and a summary to stderr; quality/quality.c says what the columns are. Sets:
#   small    MLPs, routed layers, convolutions (with the machine of SoyBean and Tofu)
#   gpt2     GPT-2 small and of width 1600 on 8 to 64 devices, fast and slow networks
#   large    T5-large, LLaMA-3 8B, GPT-39B
# Nothing is timed: the same rows on any machine. BUILD says where the program is built
# (build/release). Ends with 6 when a layout is faster than what is found.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
[ $# -gt 0 ] || set -- small gpt2 large
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >&2
cmake --build "$build" --target bench-quality >&2

rows() {
    case $1 in
        small)
            echo "mlp 8xv100"
            echo "mlp:layers=4,hidden=4096,batch=512 1xp2.8xlarge"
            echo "mlp:layers=4,hidden=4096,batch=512 2x8xv100"
            echo "moe 8xv100"
            echo "moe:layers=4,hidden=512,experts=16,tokens=1024,batch=64 2x8xv100"
            echo "alexnet:batch=128 1xp2.8xlarge"
            echo "alexnet:batch=512 2x8xv100"
            echo "vgg16:batch=64 1xp2.8xlarge"
            echo "resnet50:batch=256 8xv100"
            echo "resnet50:classes=100000,batch=256 2x8xv100-32gb"
            ;;
        gpt2)
            echo "gpt2:batch=8 8xv100"
            echo "gpt2:batch=64 8xa100"
            echo "gpt2:batch=16 2x8xv100"
            echo "gpt2:batch=64 2x8xv100"
            echo "gpt2:batch=64 4x4xh100"
            echo "gpt2:hidden=1600,heads=25,layers=48,batch=8 8xa100-80gb"
            echo "gpt2:hidden=1600,heads=25,layers=48,batch=8 8xv100-32gb"
            echo "gpt2:hidden=1600,heads=25,layers=48,batch=64 8x8xa100-80gb"
            echo "gpt2:hidden=1600,heads=25,layers=48,batch=64 8x8xv100-32gb"
            ;;
        large)
            echo "t5-large:batch=16 8xv100-32gb"
            echo "t5-large:batch=64 8x8xa100-80gb"
            echo "llama3-8b:batch=64,seq=2048,dtype=bf16 8x8xa100-80gb"
            echo "gpt2:hidden=8192,heads=64,layers=48,vocab=51200,batch=64,dtype=bf16 8x8xa100-80gb"
            ;;
        *)
            echo "bench/quality.sh: no set '$1'; there are small gpt2 large" >&2
            return 2
            ;;
    esac
}

list=""
for set in "$@"; do list="$list $(rows "$set" | tr '\n' ' ')"; done
# shellcheck disable=SC2086 # a list of words
"$build/bench-quality" $list
