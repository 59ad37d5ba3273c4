#!/bin/sh
# What to drop or copy so that others' traces and graphs fit a budget: bench/evict.sh LOGS GRAPHS > bench/evict.csv
#   LOGS    folder of the logs of uwsampl/dtr-prototype (simrd/logs.zip)
#   GRAPHS  folder of the graphs of haoming-codes/moccasin (data/)
# Neither is part of this repository; a folder that is not there is left out, which stderr says. The
# program (evict/evict.c) says what the columns are; `published` is the overhead that the DTR simulator itself gave
# (evict/published.csv; x: out of memory, or over twice the time), in rows of ours the least of all its policies.
# BUILD says where the program is built (build/release).
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
logs=${1:-} graphs=${2:-}
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >&2
cmake --build "$build" --target bench-evict >&2

rows() {
    if [ -d "$logs" ]; then
        for file in "$logs"/*.log; do
            "$build/bench-evict" logs "$file" .9,.8,.7,.6,.5,.4,.3,.2,.1
        done
    else
        echo "evict.sh: no logs: '$logs' is no folder" >&2
    fi
    if [ -d "$graphs" ]; then
        for file in "$graphs"/random_layered*.json "$graphs"/*_train_nx.json; do
            "$build/bench-evict" graph "$file" .9,.8,.7,.6,.5,.4,.3,least 3000000,60000000
        done
    else
        echo "evict.sh: no graphs: '$graphs' is no folder" >&2
    fi
}

echo "set,case,ops,base_bytes,base_seconds,ratio,budget_bytes,policy,effort,seconds,overhead,bound,peak_bytes,copied_bytes,exposed,took_s,published"
rows | awk -F, -v OFS=, '
    FILENAME != "-" {
        if (FNR == 1) next
        given[$1, $2, $3 + 0] = $4
        if ($4 != "x" && (!(($1, $3 + 0) in least) || $4 < least[$1, $3 + 0])) least[$1, $3 + 0] = $4
        known[$1] = 1
        next
    }
    $1 == "logs" {
        at = index($0, "\",")
        trace = substr($0, 7, at - 7)
        sub(/-.*/, "", trace)
        split(substr($0, at + 2), f, ",")
        ratio = f[4] + 0
        policy = f[6]
        figure = ""
        if (trace in known) {
            if (policy ~ /^pleat/) figure = (trace, ratio) in least ? least[trace, ratio] : "x"
            else if ((trace, policy, ratio) in given) figure = given[trace, policy, ratio]
        }
        print $0 "," figure
        next
    }
    { print $0 "," }
' bench/evict/published.csv -
