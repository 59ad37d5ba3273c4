#!/bin/sh
# Others' graphs cut into pipeline stages: bench/stages.sh CLONE > bench/stages.csv
#   CLONE   a clone of msr-fiddle/dnn-partitioning, which is not part of this repository
# A row per graph of throughput-inputs: what stands there (nodes, devices, hosts), what the search (stages/stages.c)
# made of it, and `published`, what the dynamic program of that repository finds, in `published_s`
# (stages/published.csv; empty where it did not end). Loads are in the unit of the files; a cut and its bound are
# computed, the same on any machine; took_s is the fastest of three. BUILD says where the program is built
# (build/release).
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
inputs=${1:?a clone of msr-fiddle/dnn-partitioning}/throughput-inputs
[ -d "$inputs" ] || { echo "stages.sh: '$inputs' is no folder" >&2; exit 2; }
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >&2
cmake --build "$build" --target bench-stages >&2

echo "graph,nodes,devices,hosts,pieces,ideals,all_ideals,pairs,max_load,bound,gap,proven,took_s,published,published_s"
"$build/bench-stages" "$inputs"/*/*.json | awk -F, -v OFS=, -v inputs="$inputs/" '
    FILENAME != "-" {
        published[$1] = $2 OFS $3
        next
    }
    {
        $1 = substr($1, length(inputs) + 1)
        sub(/[.]json$/, "", $1)
        print $0, $1 in published ? published[$1] : OFS
    }
' bench/stages/published.csv -
