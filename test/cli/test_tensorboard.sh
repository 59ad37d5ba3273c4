# Event files of TensorBoard: what they hold, whose they are, what is refused, what is left of a run that fails.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf run tb full killed ranks plain new ./*.csv
make_text text.txt
train=("$pleat" train "$tiny" --data text.txt --seq 16 --batch 4 --threads 1 --eval-batches 0)
events=$(dirname "$0")/events.py
python=
if command -v python3 > /dev/null; then
    python=1
else
    skip 'event files are not read: there is no python3'
fi
reads() { # FILE...: leaves the numbers in the file numbers
    [ -z "$python" ] || python3 "$events" "$@" > numbers 2> err || say_failure "not an event file: $*"
}
check_numbers() { [ -z "$python" ] || check "$@"; }
files() { find "$1" -type f | LC_ALL=C sort; }
column() { awk -F, -v tag="$1" -v form="$2" '$1 == tag { printf "%d " form "\n", $2, $3 }' numbers; }
of_table() { awk -F, -v k="$1" -v form="$2" 'NR > 1 && $k { printf "%d " form "\n", $1, $k }' all.csv; }

# -- the numbers of the table, in the same order ----------------------------------------------------------
runs 0 '' "${train[@]}" --steps 5 --eval-batches 2 --eval-every 2 --log-every 2 --log all.csv --tensorboard tb \
    --save run --save-every 2
check 'one file, with the name that TensorBoard looks for' test "$(files tb | grep -cE \
    "^tb/events\.out\.tfevents\.[0-9]{10,}\.$(hostname)\.[0-9]+\.pleat$")" = 1
first=$(files tb)
check 'the version' grep -qa 'brain\.Event:2' "$first"
reads "$first"
check_numbers 'the version comes first' test "$(head -n 1 numbers)" = version,brain.Event:2
check_numbers 'a new run starts nothing again' test "$(grep -c ^start numbers)" = 0
check_numbers 'the steps of the table' test "$(cut -d, -f1,2 numbers | grep loss | tr '\n' ' ')" = \
    'train/loss,2 validation/loss,2 train/loss,4 validation/loss,4 train/loss,5 validation/loss,5 '
check_numbers 'losses' test "$(column train/loss %.6g)" = "$(of_table 2 %.6g)"
check_numbers 'learning rates' test "$(column train/lr %.6g)" = "$(of_table 3 %.6g)"
check_numbers 'norms' test "$(column train/grad_norm %.6g)" = "$(of_table 4 %.6g)"
check_numbers 'validations' test "$(column validation/loss %.6g)" = "$(of_table 7 %.6g)"
check_numbers 'tokens per second' test "$(column train/tokens_per_second %.6g | awk '$2 > 0' | wc -l)" = 3
check_numbers 'nothing else' test "$(wc -l < numbers)" = 16

# -- going on: another file; what came after its first step does not count --------------------------------
cp "$first" before
runs 0 '' "${train[@]}" --steps 7 --resume run/step-00000004.json --tensorboard tb
check 'two files' test "$(files tb | wc -l)" = 2
check 'the first is as it was' cmp before "$first"
reads "$(files tb | grep -vF "$first")"
check_numbers 'where it goes on' test "$(sed -n 2p numbers)" = start,5
check_numbers 'its steps' test "$(column train/loss %d | cut -d' ' -f1 | tr '\n' ' ')" = '5 6 7 '

# -- without clipping there is no norm; numbers that are none ---------------------------------------------
runs 7 'not finite' "${train[@]}" --steps 9 --optimizer sgd --clip 0 --lr 1e30 --tensorboard plain
reads "$(files plain)"
check_numbers 'no norm' test "$(grep -c grad_norm numbers)" = 0
check_numbers 'the steps before' grep -q '^train/loss,1,[0-9]' numbers

# -- one file of several ranks ----------------------------------------------------------------------------
runs 0 '' "${train[@]}" --steps 2 --devices 2 --tensorboard ranks
check 'one file of two threads' test "$(files ranks | wc -l)" = 1
if "$pleat" doctor 2> /dev/null | grep -q '^MPI *built in' && command -v mpirun > /dev/null; then
    rm -r ranks
    runs 0 '' mpirun -n 2 "${train[@]}" --steps 2 --tensorboard ranks
    check 'one file of two processes' test "$(files ranks | wc -l)" = 1
fi

# -- refused before the work ------------------------------------------------------------------------------
refuses 3 '--tensorboard text.txt: not a folder' "${train[@]}" --steps 2 --tensorboard text.txt
refuses 3 '--tensorboard text.txt/x: cannot write: Not a directory' "${train[@]}" --steps 2 --tensorboard text.txt/x
refuses 3 '--tensorboard nosuch/x: cannot write: No such file|create its parent first' \
    "${train[@]}" --steps 2 --tensorboard nosuch/x
refuses 3 'all.csv is there already' "${train[@]}" --steps 2 --log all.csv --tensorboard new
check 'nothing is made then' test ! -e new

# -- a disk that is full: said once; what is there is whole; the run goes on ------------------------------
# shellcheck disable=SC2016 # the inner shell's words
limited=(bash -c 'trap "" XFSZ; ulimit -f 8; exec "$@"' limited)
runs 0 'full/events.out.tfevents.|.pleat: cannot write: File too large; the run goes on' \
    "${limited[@]}" "${train[@]}" --steps 90 --tensorboard full
check 'said once' test "$(grep -c 'the run goes on' err)" = 1
check 'all steps are done' grep -q '^step 90 loss' out
reads "$(files full)"
check_numbers 'many steps' test "$(grep -c train/loss numbers)" -gt 20

# -- a run that is killed: each step is there, whole, as soon as it is told -------------------------------
"${train[@]}" --steps 1000000 --log-every 20 --tensorboard killed > /dev/null 2> err &
job=$!
for ((i = 0; i < 300; i++)); do
    [ "$(cat killed/* 2> /dev/null | wc -c)" -lt 2000 ] || break
    sleep 0.1
done
kill -9 $job
wait $job 2> /dev/null
reads "$(files killed)"
check_numbers 'its steps' test "$(grep -c train/loss numbers)" -gt 10
finish
