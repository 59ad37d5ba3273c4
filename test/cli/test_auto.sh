# Strategy auto is one plan, whoever asks: train, verify and memory take the one that plan finds.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

gpt=gpt2:layers=2,hidden=64,heads=4,vocab=256,seq=32,batch=8,dropout=0
mlp=mlp:hidden=2048,batch=64
train=(--data synthetic --steps 1 --eval-batches 0 --threads 1 --program)

# -- training runs the plan of the file that pleat plan writes, step for step ------------------------------
search=()
same_program() { # MODEL DEVICES OPTION..., with "${search[@]}"
    local model=$1 devices=$2
    shift 2
    runs 0 '' "$pleat" plan "$model" --devices "$devices" "$@" "${search[@]}" -o plan.json
    runs 0 '' "$pleat" train "$model" --strategy auto --devices "$devices" "$@" "${search[@]}" "${train[@]}"
    grep -v '^strategy auto took' err | sed -n '/; [0-9]* steps on /,/^[0-9]* steps in /p' | grep -v '^[0-9]* steps in ' > auto.txt
    grep -qE "^strategy auto took .* on .*: a step is predicted to take [0-9.]+ ms$" err ||
        say_failure "train $model does not say what it took"
    runs 0 '' "$pleat" train "$model" --plan plan.json --devices "$devices" "$@" "${train[@]}"
    sed -n '/; [0-9]* steps on /,/^[0-9]* steps in /p' err | grep -v '^[0-9]* steps in ' > file.txt
    check "$model on $devices, $*: a program was compared" test "$(wc -l < file.txt)" -gt 20
    check "$model on $devices, $*: train --strategy auto runs the plan of pleat plan" cmp -s auto.txt file.txt
}
for devices in 2 4; do
    same_program "$gpt" $devices
    same_program "$mlp" $devices
    same_program "$gpt" $devices --cluster 1x${devices}xv100
done
same_program "$gpt,dtype=bf16" 2 --cluster 1x2xv100
check 'auto keeps 16-bit weights beside masters' grep -q '^  "masters": true,$' plan.json
same_program "$gpt" 2 --gathers-ahead 0 --bucket 64KiB
same_program mlp:hidden=512,batch=64 4
search=(-O1 --search tapas)
same_program "$gpt" 4 --memory 64MiB
search=(-O1 --axes 1)
same_program "$gpt" 4 --memory 64MiB

# -- with the options that both have ----------------------------------------------------------------------
runs 0 '' "$pleat" plan "$mlp" --devices 4 --json
peak=$(sed -n 's/.*"peak_bytes": \([0-9]*\).*/\1/p' out | head -n 1)
runs 0 '' "$pleat" plan "$mlp" --devices 4 --memory "$((peak * 9 / 10240))KiB" -o plan.json
cp out less
runs 0 '' "$pleat" train "$mlp" --strategy auto --devices 4 --memory "$((peak * 9 / 10240))KiB" "${train[@]}" --json
step=$(sed -n 's/^step  *\([0-9.]*\) ms predicted.*/\1/p' less)
grep -qE "a step is predicted to take $step ms$" err || say_failure "with --memory train takes another plan than the one of $step ms"
check 'the event comes first' test "$(head -c 8 out)" = '{"plan":'
grep -qE '^\{"plan": "[^"]*", "mesh": "[^"]*", "predicted_step_seconds": [0-9.e-]+, "plans": [0-9]+\}$' out ||
    say_failure 'no event of the plan'
refuses 5 'nothing fits' "$pleat" train "$mlp" --strategy auto --devices 4 --memory 1MiB --data synthetic
for strategy in dp zero=3; do # what plans count is what the limit is of
    runs 0 '' "$pleat" plan "$gpt" --devices 2 --strategy $strategy --json
    peak=$(sed -n 's/.*"peak_bytes": \([0-9]*\).*/\1/p' out | head -n 1)
    runs 0 '' "$pleat" train "$gpt" --devices 2 --strategy $strategy --memory "$((peak / 1024 + 1))KiB" "${train[@]}"
    refuses 5 'its limit is' "$pleat" train "$gpt" --devices 2 --strategy $strategy --memory "$((peak / 1024 - 1))KiB" \
        --data synthetic
done

# -- verify and memory -------------------------------------------------------------------------------------
runs 0 '' "$pleat" plan "$gpt" --devices 2
axis=$(sed -n '2s/.*: \([a-z]*\)=2$/\1/p' out)
runs 0 '' "$pleat" verify "$gpt" --strategy auto --devices 2 --steps 1
grep -qE "^auto +$axis=2 .* equal " out || say_failure "verify --strategy auto does not name the mesh $axis=2"
runs 0 '' "$pleat" plan "$gpt" --devices 4 -o plan.json
runs 0 '' "$pleat" memory "$gpt" --devices 4 --strategy plan=plan.json --order program --layout llfb
tail -n +2 out | grep -v '^order ' > file.txt
runs 0 '' "$pleat" memory "$gpt" --devices 4 --strategy auto --order program --layout llfb
tail -n +2 out | grep -v '^order ' > auto.txt
check 'memory --strategy auto studies the plan of pleat plan' cmp -s auto.txt file.txt

# -- the best so far ---------------------------------------------------------------------------------------
runs 0 '' "$pleat" plan "$mlp" --cluster 2x8xv100 --seconds 1e-6 -o soon.json
grep -q 'the time was over$' out || say_failure "a plan that was stopped does not say so"
runs 0 '' "$pleat" show soon.json
runs 0 '' "$pleat" plan "$mlp" --cluster 2x8xv100 --seconds 1e-6 --json
check 'a stopped search says so' grep -q '"stopped": true' out
runs 0 '' "$pleat" plan "$mlp" --cluster 2x8xv100 --seconds 600 --json
check 'one that came to its end too' grep -q '"stopped": false' out
refuses 2 '--seconds' "$pleat" plan "$mlp" --cluster 2x8xv100 --strategy dp --seconds 1
finish
