# A folder of checkpoints belongs to a run: what is refused, what goes on, what is replaced. And tables.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf run other ./*.csv ./*.log
make_text text.txt
train=("$pleat" train "$tiny" --data text.txt --seq 16 --batch 4 --threads 1 --eval-batches 0)
run_of() { sed -n 's/.*"run": "\(.*\)",/\1/p' "$1"; }

# -- another run's folder ---------------------------------------------------------------------------------
runs 0 '' "${train[@]}" --steps 50 --save run
before=$(ls run)
refuses 3 'run holds a checkpoint of step 50, of another run|--resume run goes on|--overwrite begins anew' \
    "${train[@]}" --steps 3 --save run
refuses 3 'run holds a checkpoint' "${train[@]}" --steps 3 --save run --devices 2
check 'nothing is lost' test "$(ls run)" = "$before"
runs 0 '' "${train[@]}" --steps 60 --save-every 5 --save run --resume run
check 'the newest three are kept' test "$(ls run | tr '\n' ' ')" = \
    'latest step-00000050.json step-00000050.safetensors step-00000055.json step-00000055.safetensors '`
    `'step-00000060.json step-00000060.safetensors '
check 'the same run' test -n "$(run_of run/step-00000060.json)" -a \
    "$(run_of run/step-00000050.json)" = "$(run_of run/step-00000060.json)"
runs 0 '' "${train[@]}" --steps 60 --save other --resume run/step-00000055.json
check 'another folder, another run' test "$(run_of run/step-00000055.json)" != "$(run_of other/step-00000060.json)"
check 'the same tensors' cmp run/step-00000060.safetensors other/step-00000060.safetensors
refuses 3 'other holds a checkpoint of step 60, of another run than run: --overwrite' \
    "${train[@]}" --steps 60 --save other --resume run
refuses 2 'leave one out' "${train[@]}" --steps 70 --save run --resume run --overwrite
runs 0 '' "${train[@]}" --steps 4 --save run --overwrite
check 'the old run is gone, the new one is there' test "$(ls run | tr '\n' ' ')" = \
    'latest step-00000004.json step-00000004.safetensors '
runs 0 'nothing will be saved: --save run would' "${train[@]}" --steps 6 --resume run

# A run that fails before its first checkpoint takes nothing with it.
runs 7 'not finite' "${train[@]}" --steps 9 --save run --overwrite --optimizer sgd --clip 0 --lr 1e30
check 'what is replaced goes last' test -f run/step-00000004.safetensors -a ! -e run/lock

# Checkpoints of an older version have no run: they load, and are another run's.
sed -i '/"run": /d' run/step-00000004.json
runs 0 '' "${train[@]}" --steps 12 --save-every 1 --save run --resume run
check 'older ones stay' test -f run/step-00000004.json -a -f run/step-00000010.json -a ! -e run/step-00000009.json

# -- two runs at once -------------------------------------------------------------------------------------
rm -r run
"${train[@]}" --steps 1000000 --save run > /dev/null 2> first.log &
job=$!
for ((i = 0; i < 300; i++)); do
    ! grep -qs 'to validate' first.log || break
    sleep 0.1
done
refuses 3 "another run is saving in run: process $job on $(hostname)" "${train[@]}" --steps 3 --save run
refuses 3 "process $job on" "${train[@]}" --steps 3 --save run --overwrite
kill -9 $job
wait $job 2> /dev/null
check 'its lock stays, and hinders nobody' test -e run/lock
runs 0 '' "${train[@]}" --steps 3 --save run
check 'the lock is gone' test ! -e run/lock
if command -v mpirun > /dev/null; then
    runs 3 'run holds a checkpoint of step 3' mpirun -n 2 "${train[@]}" --steps 4 --save run
    runs 0 '' mpirun -n 2 "${train[@]}" --steps 4 --save run --resume run
fi

# -- when to save -----------------------------------------------------------------------------------------
runs 0 'saved step 1 |saved step 2 |saved step 3 ' "${train[@]}" --steps 3 --devices 2 --save-every 0.000001s \
    --save run --overwrite
for every in 15min 1h 90s; do
    runs 0 '' "${train[@]}" --steps 2 --save-every $every --save run --overwrite
    check "$every: one save" test "$(grep -c ^saved err)" = 1
done
for every in 15mins -1 0h min 1d ''; do
    refuses 2 'a number of steps, or a time such as' "${train[@]}" --save-every "$every" --save run
done

# -- resuming something else ------------------------------------------------------------------------------
refuses 3 'cannot resume run: the optimizer was adamw and is sgd; --weights run takes its weights alone' \
    "${train[@]}" --steps 9 --resume run --optimizer sgd
check 'shortly' test "$(wc -c < err)" -lt 160
refuses 3 'the seed was 1 and is 9; --weights run' "${train[@]}" --steps 9 --resume run --seed 9

# -- tables -----------------------------------------------------------------------------------------------
runs 0 '' "${train[@]}" --steps 5 --eval-batches 2 --eval-every 2 --log-every 2 --log all.csv --save run --overwrite
check 'steps that are shown' test "$(grep -c '^step [0-9]* loss .* lr .* grad_norm ' out)" = 3
check 'validations are all shown' test "$(grep -c validation out)" = 3
check 'the table' test "$(cut -d, -f1 all.csv | tr '\n' ' ')" = 'step 2 2 4 4 5 5 '
check 'seven columns' awk -F, 'NF != 7 { exit 1 }' all.csv
check 'the losses of the lines' test "$(awk '/ loss / { print $2, $4 }' out)" = \
    "$(awk -F, 'NR > 1 && $2 { printf "%d %.6f\n", $1, $2 }' all.csv)"
refuses 3 'all.csv is there already: only --resume adds to it' "${train[@]}" --steps 5 --log all.csv
printf '6,1.5' >> all.csv # a row that a killed run left
runs 0 '' "${train[@]}" --steps 7 --resume run --log all.csv
check 'rows are added' test "$(tail -n 3 all.csv | cut -d, -f1 | tr '\n' ' ')" = '6 6 7 '
cp text.txt other.csv
refuses 3 'other.csv is not a table that --log made' "${train[@]}" --steps 7 --resume run --log other.csv
check 'it is as it was' cmp text.txt other.csv
refuses 3 'nosuch/x.csv: cannot write' "${train[@]}" --steps 5 --log nosuch/x.csv
runs 0 '' "${train[@]}" --steps 3 --json
check 'JSON ends with what is done' grep -q '"done": "steps", "step": 3, "seconds": .*"saved": false}$' <(tail -n 1 out)
runs 7 'not finite' "${train[@]}" --steps 9 --optimizer sgd --clip 0 --lr 1e30
check 'nan has no sign' test "$(grep -c -- '-nan' out)" = 0
finish
