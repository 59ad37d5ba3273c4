# Tables in slow memory: counted, planned with a cache of their rows, trained, and what a run tells.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

rm -rf cached json file whole
awk 'BEGIN { srand(1); OFS = "\t"; for (i = 0; i < 900; i++) { $0 = ""
    for (k = 2; k <= 14; k++) $k = int(50 * rand())
    for (k = 15; k <= 40; k++) $k = sprintf("%08x", 3000 * rand() ^ 6)
    $1 = rand() < 0.4 ? 1 : 0; print } }' > clicks.tsv
model=dlrm:rows=3000,batch=24

runs 0 '' "$pleat" data count $model --data clicks.tsv -o counts.safetensors
check 'counts are told' grep -q '^cat_25 *3000 ' out
runs 0 '' "$pleat" plan $model --cluster local:2 --optimizer adagrad --cache auto --ids counts.safetensors -o plan.json
check 'sizes are compared' grep -qE '^ *1\.5% ' out
check 'whole tables are the best where they fit' grep -qE '^ *all .*\*$' out

# The rows of a device are a part of the plan: train has them from its file, and forecasts hold.
runs 0 '' "$pleat" plan $model --cluster local:2 --optimizer adagrad --cache 5% --ids zipf=1.1 -o plan.json --json
check 'JSON has the sizes' grep -q '"caches": \[' out
runs 0 'tables, of which devices have caches: |in the host'"'"'s memory|ids found' "$pleat" train $model --plan plan.json \
    --optimizer adagrad --data clicks.tsv --steps 20 --eval-batches 4 --save cached
check 'the area under the curve is told' grep -q 'AUC' out err
runs 0 '' "$pleat" train $model --plan plan.json --optimizer adagrad --data clicks.tsv --steps 20 --save json --json
check 'JSON tells what was found' grep -q '"cache": {"ids": ' out
runs 0 'in a file in .' "$pleat" train $model --optimizer adagrad --data clicks.tsv --steps 20 --save file --host-dir . \
    --devices 2 --cache 150 --strategy embrace --cache-policy lru
runs 0 '' "$pleat" train $model --optimizer adagrad --data clicks.tsv --steps 20 --save whole --devices 2 --strategy embrace
check 'tables in a file are the same' cmp whole/step-00000020.safetensors file/step-00000020.safetensors
runs 0 '' "$pleat" verify $model --strategy plan=plan.json --devices 2 --optimizer adagrad

refuses 2 '--cache 0%: a share of the rows' "$pleat" plan $model --cluster local:2 --optimizer adagrad --cache 0%
refuses 2 'adamw changes rows that no step has read' "$pleat" plan $model --cluster local:2 --cache 5%
refuses 2 "zipf=x: the exponent of Zipf's law" "$pleat" plan $model --cluster local:2 --optimizer adagrad --cache auto --ids zipf=x
refuses 2 '--cache auto' "$pleat" plan $model --cluster local:2 --optimizer adagrad --cache auto
refuses 3 "'cat_0' is i64[4000] here|and 22 more|pleat data count" "$pleat" plan dlrm:rows=4000 --cluster local:2 --optimizer adagrad --cache auto \
    --ids counts.safetensors
refuses 2 '--cache-policy fifo: dataset, lfu' "$pleat" train $model --optimizer adagrad --data synthetic --cache 5% \
    --cache-policy fifo
refuses 7 "more than 12 rows by 'cat_0'" "$pleat" train $model --optimizer adagrad --data synthetic --cache 12
refuses 2 "zipf=0: the exponent of Zipf's law" "$pleat" train $model --data zipf=0

finish
