# Tables that stand in one: a log of clicks, whole tables on devices, and validation that leaves them
# where they are.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

rm -rf once
awk 'BEGIN { srand(1); OFS = "\t"; for (i = 0; i < 300; i++) { $0 = ""
    for (k = 2; k <= 14; k++) $k = int(50 * rand())
    for (k = 15; k <= 40; k++) $k = sprintf("%08x", 3000 * rand() ^ 6)
    $1 = rand() < 0.4 ? 1 : 0; print } }' > clicks.tsv
model=dlrm:sizes=8x20000-17x5-1x300,batch=24
train=("$pleat" train $model --optimizer adagrad --data clicks.tsv --steps 2 --devices 2)

# A device has 10 MiB of states; to gather the tables would take as much again.
for s in embrace row-wise table-wise auto; do
    runs 0 '' "${train[@]}" --strategy $s --memory 12MiB
    check 'it is validated' grep -q 'validation .* AUC' out
done
runs 0 '' "$pleat" plan $model --cluster local:2 --optimizer adagrad --strategy table-wise -o plan.json
runs 0 '' "${train[@]}" --plan plan.json --memory 12MiB
runs 0 '' "${train[@]}" --plan plan.json --memory 13MiB --save once
runs 0 '' "$pleat" train $model --optimizer adagrad --data clicks.tsv --steps 3 --resume once

# A table of theirs is asked about by its own name.
runs 0 '' "$pleat" explain $model emb_l.3.weight --cluster local:2 --optimizer adagrad
check 'it stands in one with others' grep -q 'emb_l\.0-7\.weight' out

# Others do not have them, or cannot.
refuses 3 'none are as many as the 4 devices that share the batch: of a recommender write sizes=4x1000' \
    "$pleat" plan dlrm:sizes=3x50-20 --devices 4 --strategy table-wise
refuses 2 "there is nothing to cache|stands alone (a recommender's sizes without 'x')" "$pleat" train dlrm:sizes=26x500 --optimizer adagrad --data clicks.tsv --cache 10%
refuses 2 'that stands alone' "$pleat" data count dlrm:sizes=26x500 --data clicks.tsv
refuses 3 '26 columns of ids, the model 27 tables: give it as many' "$pleat" train dlrm:sizes=27x50 --data clicks.tsv
for sizes in 5x x5 0x5 5x0 3x-4 +5x5 5x+5 65537x2 9223372036854775808x2 5--5; do
    refuses 2 'give at most 256 whole numbers from 1, as in 1460-583-5x1000' "$pleat" plan dlrm:sizes=$sizes --devices 1
done
refuses 2 'hots has 2 numbers, the tables 1: give one, or one for each' "$pleat" plan dlrm:sizes=5x10,hots=2-3 --devices 1
refuses 2 'offsets=1 needs tables that stand alone' "$pleat" plan dlrm:sizes=5x10,offsets=1 --devices 1

finish
