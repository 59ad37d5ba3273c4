# pleat verify as a user starts it: on threads and under mpirun, alone and over all strategies.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

verify=("$pleat" verify)
small=gpt2:layers=1,hidden=16,heads=4,vocab=64,seq=8,batch=8,dropout=0.1
quick=(--threads 1 --backend native)

column() { grep -qE -- "$1" out || say_failure "no line like '$1' on stdout"; }

# -- one strategy -----------------------------------------------------------------------------------------
runs 0 '3 steps of adamw, whole and on 2 devices' "${verify[@]}" "$small" --strategy dp --devices 2 "${quick[@]}"
column '^strategy +mesh +difference +bytes/step +counted +verdict +largest difference$'
column '^dp +data=2 +[0-9.e-]+ +[0-9]+ +[0-9]+ +equal '
check 'a heading and a line' test "$(wc -l < out)" = 2
# shellcheck disable=SC2016 # for awk
check 'bytes are counted as predicted' awk 'NR == 2 { bad = $4 != $5 || $4 < 1 } END { exit bad }' out
runs 0 '' "${verify[@]}" mlp --strategy dp --devices 1 "${quick[@]}"
column '^dp +data=1 +0 +0 +0 +equal|^dp +0 +0 +0 +equal'

# -- in micro-batches --------------------------------------------------------------------------------------
dropless=${small/dropout=0.1/dropout=0}
runs 0 '3 steps of adamw, whole and on 2 devices in 4 micro-batches' \
    "${verify[@]}" "$dropless" --strategy zero=2 --devices 2 --micro 4 "${quick[@]}"
column '^zero=2 +data=2 +[0-9.e-]+ +[0-9]+ +[0-9]+ +equal '
# shellcheck disable=SC2016 # for awk
check 'bytes are counted as predicted' awk 'NR == 2 { bad = $4 != $5 || $4 < 1 } END { exit bad }' out
runs 0 'whole in 2 micro-batches and on 2 devices in the same ones' \
    "${verify[@]}" "$small" --strategy dp --devices 2 --micro 2 "${quick[@]}"
for micro in 1 2; do
    left_out 2 && continue
    runs 0 '' "${verify[@]}" "$small" --all --devices 4 --micro $micro "${quick[@]}"
    check 'many strategies' test "$(grep -c ' equal ' out)" -ge 6
    check 'none differs or fails' test -z "$(grep -E ' (differs|failed)' out)"
done
runs 0 '' "${verify[@]}" "$dropless" --strategy tp=2,zero=1 --devices 4 --micro 2 --json "${quick[@]}"
check 'told in JSON' grep -q '"micro": 2, "whole_micro": 1,' out

# What is equal but for rounding is not equal without a tolerance.
runs 6 "differs from the whole run by|rank |tolerance 0" \
    "${verify[@]}" "$small" --strategy dp --devices 4 --tolerance 0 --steps 1 "${quick[@]}"
column ' differs '

# -- rounding that is larger than the tolerance -----------------------------------------------------------
rough=mobilenet_v2:width=0.25,divisor=3,stages=3,blocks=1,last=5,size=12,classes=2,batch=8,dropout=0
runs 0 'over the tolerance: running in f64 too, about ' \
    "${verify[@]}" $rough --strategy spatial=2 --devices 2 --steps 1 "${quick[@]}"
column '^spatial=2 .* equal '
column '^    equal in f64 \([0-9.]+e-1[0-9]\); the rest is the rounding of f32: at .* for a noise of [0-9.e-]+;'
runs 0 '' "${verify[@]}" $rough --strategy spatial=2 --devices 2 --steps 1 --json "${quick[@]}"
check 'rounding in JSON' grep -qE '"rounding": \{"tensors_over": [0-9]+, .*"noise": [0-9.e-]+' out
runs 0 'as asked: running in f64 too' "${verify[@]}" mlp --strategy dp --devices 2 --batch 8 --exact "${quick[@]}"
column '^    equal in f64 \([0-9.]+e-1[0-9]\)$'
refuses 2 '--exact has no effect beside --tolerance' \
    "${verify[@]}" mlp --strategy dp --devices 2 --exact --tolerance 1 "${quick[@]}"

# -- all of them, as a table and as JSON; other optimizers and kernels -----------------------------------
runs 0 '' "${verify[@]}" "$small" --all --devices 2 "${quick[@]}"
grep ' equal  ' out > table
runs 0 '' "${verify[@]}" "$small" --all --devices 2 --json "${quick[@]}"
check 'one line of JSON' test "$(wc -l < out)" = 1
grep -q '"schema": "pleat.verify/1"' out || say_failure 'no schema'
check 'as many in JSON' test "$(grep -o '"verdict": "equal"' out | wc -l)" = "$(wc -l < table)"
for optimizer in adam sgd; do
    runs 0 '' "${verify[@]}" mlp --strategy zero=1 --devices 2 --optimizer $optimizer "${quick[@]}"
done
runs 0 '' "${verify[@]}" mlp --strategy tp=2 --devices 2 --threads 1 --backend ref
runs 0 '' "${verify[@]}" mlp --strategy tp=2 --devices 2 --threads 1

# The bytes are those that pleat plan tells.
runs 0 '' "${verify[@]}" "$small" --strategy tp=2 --devices 4 --json "${quick[@]}"
bytes=$(sed -n 's/.*"bytes_counted": \([0-9]*\).*/\1/p' out)
runs 0 '' "$pleat" plan "$small" --strategy tp=2 --devices 4 --json
check "plan and verify: $bytes bytes per step" grep -qE "\"comm_bytes\": ${bytes}[,}]" out

# -- mistakes ---------------------------------------------------------------------------------------------
refuses 2 'give --strategy TEXT|or --all' "${verify[@]}" mlp --devices 2
refuses 2 'give --strategy TEXT|or --all' "${verify[@]}" mlp --devices 2 --all --strategy dp
refuses 2 "strategy: 'magic' is not one of its words" "${verify[@]}" mlp --devices 2 --strategy magic "${quick[@]}"
refuses 2 'null computes nothing' "${verify[@]}" mlp --devices 2 --strategy dp --backend null
refuses 2 '--micro: 0 is below 1' "${verify[@]}" mlp --devices 2 --strategy dp --micro 0
refuses 2 'batch=8 does not divide into 3 micro-batches|--batch 9' \
    "${verify[@]}" mlp --devices 2 --strategy dp --batch 8 --micro 3 "${quick[@]}"
refuses 2 '--steps: 0 is below 1' "${verify[@]}" mlp --devices 2 --strategy dp --steps 0
refuses 2 "unknown model 'gpt3'" "${verify[@]}" gpt3 --devices 2 --strategy dp
refuses 2 "'tp=3'|4" "${verify[@]}" mlp --devices 4 --strategy tp=3 "${quick[@]}"
refuses 7 'the whole run is not finite|lower --lr' \
    "${verify[@]}" mlp --devices 2 --strategy dp --optimizer sgd --clip 0 --lr 1e30 "${quick[@]}"

# -- under mpirun -----------------------------------------------------------------------------------------
if ! command -v mpirun > /dev/null || ! "$pleat" doctor | grep -q 'start with mpirun'; then
    skip 'no MPI'
    finish
fi
runs 0 '' mpirun -n 4 "${verify[@]}" "$small" --strategy tp=2,zero=1 "${quick[@]}"
check 'rank 0 alone prints' test "$(wc -l < out)" = 2
runs 0 '' mpirun -n 2 "${verify[@]}" "$small" --all --json "${quick[@]}"
check 'one line of JSON' test "$(wc -l < out)" = 1
runs 0 '' mpirun -n 4 "${verify[@]}" "$small" --strategy dp=2,tp=2 --micro 2 "${quick[@]}"
runs 6 'differs from the whole run' \
    mpirun -n 2 "${verify[@]}" "$small" --strategy dp --tolerance 0 --steps 1 "${quick[@]}"
check 'one error' test "$(grep -c '^error: ' err)" = 1
finish
