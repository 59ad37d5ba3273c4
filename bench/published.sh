#!/bin/sh
# Tables of SoyBean and Tofu on pleat's own tables, as CSV on stdout: bench/published.sh [SET ...] with
#   conversions  what it takes to change how a tensor is cut in two (SoyBean)
#   order        cuts made in turn, and what the best order of axes mends of them (Tofu)
#   rnn          RNN-4-8K on 8 K80 by the methods of Tofu's figure 10
#   search       RNN-10-8K and WResNet-152-10, for which Tofu gives the time of its search
# published/published.c says what the columns are. BUILD says where the program is built
# (build/release).
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
[ $# -gt 0 ] || set -- conversions order rnn search
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >&2
cmake --build "$build" --target bench-published >&2

show() {
    "$build/bench-published" "$@" | tail -n +2
}

rnn() {
    show methods rnn-4-8k 1xp2.8xlarge 8
    show methods rnn-4-8k 1xp2.8xlarge 2x2x2 allrow spartan equalchop icml18 tofu
}

search() {
    show methods rnn-10-8k 1xp2.8xlarge 8 exact tied tofu
    show methods rnn-10-8k 1xp2.8xlarge 2x4 exact
    show methods rnn-10-8k 1xp2.8xlarge 2x2x2 tofu
    show methods wresnet-152-10 1xp2.8xlarge 8 exact tied tofu
    show methods wresnet-152-10 1xp2.8xlarge 2x4 exact
}

echo "table,case,method,elements,step_s,messages_s,share,search_cpu_s,published"
for set in "$@"; do
    case $set in
        conversions | order) show "$set" ;;
        rnn | search) $set ;;
        *)
            echo "bench/published.sh: no set '$set'; there are conversions order rnn search" >&2
            exit 2
            ;;
    esac
done
