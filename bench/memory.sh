#!/bin/sh
# How large the block of work memory is: bench/memory.sh [SET ...] > bench/memory.csv, with sets
#   models   training steps under the orders and layouts of pleat memory, each row beside the bound
#   roam     the models of ROAM's tables with Adam in many operators, each result a tensor of its own: add
#            param_bytes to compare with its figures (shared data: roam/ours_mem_ss.csv)
#   layouts  MiniMalloc's instances (shared data; skipped where they are not): the lowest layout found
# PLEAT is the program (build/pleat), DATA the folder of the instances (../shared/data/minimalloc).
set -eu
cd "$(dirname "$0")/.."
pleat=${PLEAT:-build/pleat}
data=${DATA:-../shared/data/minimalloc}
[ $# -gt 0 ] || set -- models roam layouts

# SET MODEL OPTIONS: a row for each pair of an order and a layout
study() {
    set=$1
    shift
    "$pleat" memory "$@" --json | tr '{' '\n' | awk -v set="$set" -v command="pleat memory $*" '
        function number(name) { return match($0, "\"" name "\": [0-9.]+") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) : "" }
        function text(name) { return match($0, "\"" name "\": \"[^\"]*\"") ? substr($0, RSTART + length(name) + 5, RLENGTH - length(name) - 6) : "" }
        /"schema"/ { model = text("model"); strategy = text("strategy"); params = number("param_bytes"); state = number("state_bytes"); bound = number("bound_bytes") }
        /"order"/ {
            printf "%s,\"%s\",\"%s\",%s,%s,%s,%s,%s,%s,%s,%.6f,\"%s\"\n", set, model, strategy, text("order"), text("layout"), params, state,
                number("live_bytes"), number("block_bytes"), bound, number("seconds"), command
        }'
}

models() {
    for model in alexnet:batch=1 alexnet:batch=32 vgg11:batch=1 vgg11:batch=32 resnet50:batch=1 resnet50:batch=32 \
        gpt2:batch=1 gpt2:batch=8 gpt2-xl:batch=1 t5-small:batch=8; do
        study models "$model"
        study models "$model" --clip 0
    done
    study models resnet50:batch=32 --devices 4 --strategy zero=3
    study models gpt2:batch=8 --devices 8 --strategy zero=3
    study models gpt2:batch=8 --devices 4 --strategy tp=4,sp
}

roam() {
    for model in alexnet vgg11 mnasnet0_5 mobilenet_v2 efficientnet_b0 vit_b_16 roberta-base:classes=2,seq=4; do
        for batch in 1 32; do study roam "$model" --batch $batch --optimizer adam --clip 0 --unfused-update; done
    done
    for batch in 1 2 4; do study roam gpt2-xl:classes=2,dropout=0 --batch $batch --optimizer adam --clip 0 --unfused-update; done
}

layouts() {
    [ -d "$data" ] || { echo "bench/memory.sh: no instances at $data: skipped" >&2; return; }
    for file in "$data"/[A-Z].*.csv; do
        name=$(basename "$file" .csv)
        "$pleat" memory --csv "$file" --nodes 100000 --json | awk -v name="$name" '{
            gsub(/[{}",:]/, " ")
            printf "layouts,\"%s\",,pleat,pleat,0,0,%s,%s,%s,%s,\"pleat memory --csv %s.csv --nodes 100000\"\n", name, $4, $2, $4, $8, name
        }'
    done
}

echo "set,case,strategy,order,layout,param_bytes,state_bytes,live_bytes,block_bytes,bound_bytes,layout_s,command"
for set in "$@"; do
    case $set in
        models | roam | layouts) $set ;;
        *)
            echo "bench/memory.sh: no set '$set'; there are models roam layouts" >&2
            exit 2
            ;;
    esac
done
