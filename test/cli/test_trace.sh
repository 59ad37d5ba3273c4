# The trace of a run: what the last step did, device by device, and the forecast beside it.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf ./*.json saved
make_text text.txt
train=("$pleat" train "$tiny" --data text.txt --seq 16 --batch 4 --threads 1)

if command -v jq > /dev/null; then
    is_json() { jq -e . "$1" > /dev/null; }
elif command -v python3 > /dev/null; then
    is_json() { python3 -m json.tool "$1" > /dev/null; }
else
    skip 'JSON is not parsed: there is neither jq nor python3'
    is_json() { :; }
fi

# The names of processes, or of the rows of process PID, in order, joined by ", ".
processes() { sed -n 's/.*"process_name".*{"name": "\([^"]*\)".*/\1/p' "$1" | paste -sd, | sed 's/,/, /g'; }
rows() { sed -n "s/.*\"thread_name\", \"pid\": $2,.*{\"name\": \"\([^\"]*\)\".*/\1/p" "$1" | paste -sd, | sed 's/,/, /g'; }
# Steps of process PID: no row's overlap, none begins before 0; prints their number.
steps() {
    sed -n "s/^ *{\"ph\": \"X\".*\"pid\": $2, \"tid\": \([0-9]*\), \"ts\": \([-0-9.]*\), \"dur\": \([-0-9.]*\),.*/\1 \2 \3/p" "$1" |
        awk '$2 < end[$1] - 1e-6 || $3 < 0 { bad = 1 } { end[$1] = $2 + $3 } END { print bad ? "overlap" : NR }'
}
has() { # FILE PID NUMBER: so many steps in the process
    check "$1: process $2 has $(steps "$1" "$2") steps, not $3" test "$(steps "$1" "$2")" = "$3"
}
lists() { # FILE PROCESSES: a trace of these
    check "$1 is no JSON" is_json "$1"
    check "$1 has '$(processes "$1")', not '$2'" test "$(processes "$1")" = "$2"
}
# The number of steps of a program, from the line that the run began with.
told() { sed -n 's/.*; \([0-9]*\) steps on .*/\1/p' err; }

# -- devices ----------------------------------------------------------------------------------------------
runs 0 'one.json: |for ui.perfetto.dev' "${train[@]}" --steps 3 --trace one.json
lists one.json 'device 0'
check 'one device: no messages' test "$(rows one.json 0)" = compute
has one.json 0 "$(told)"
runs 0 '' "${train[@]}" --steps 3 --devices 2 --trace two.json
lists two.json 'device 0, device 1'
for device in 0 1; do
    [[ $(rows two.json $device) == 'compute, messages over data'* ]] || say_failure "rows: $(rows two.json $device)"
    has two.json $device "$(told)"
done
for category in forward backward update all-reduce; do
    check "two.json: $category" grep -q "\"cat\": \"$category\"" two.json
done
runs 0 '' "${train[@]}" --steps 2 --devices 4 --strategy tp=2,dp --trace four.json
lists four.json 'device 0, device 1, device 2, device 3'
check 'messages over tensor' grep -q '"messages over tensor"' four.json

# -- the forecast beside it, where there are figures ------------------------------------------------------
runs 0 'predicted' "${train[@]}" --steps 3 --devices 2 --cluster local:2 --trace both.json
lists both.json 'device 0, forecast of device 0, device 1'
for process in 0 1 2; do has both.json $process "$(told)"; done

# -- micro-batches: the last one ---------------------------------------------------------------------------
runs 0 'the last of 2 micro-batches' "${train[@]}" --steps 2 --devices 2 --micro 2 --cluster local:2 --trace micro.json
lists micro.json 'device 0, forecast of device 0, device 1'
for process in 0 1 2; do has micro.json $process "$(told)"; done

# -- where it goes ----------------------------------------------------------------------------------------
runs 0 '{"done": "steps"' "${train[@]}" --steps 1 --json --trace -
check 'stdout has the trace alone' is_json out
refuses 2 '--trace has no effect with --steps 0' "${train[@]}" --steps 0 --trace none.json
runs 0 '' "${train[@]}" --steps 2 --save saved
runs 0 'none.json: not written: no step ran' "${train[@]}" --steps 2 --resume saved --trace none.json
check 'no file of a run without steps' test ! -e none.json
runs 7 'not finite at step 2' "${train[@]}" --steps 4 --optimizer sgd --clip 0 --lr 1e30 --trace none.json
check 'no file of a run that failed' test ! -e none.json

# -- under mpirun: device 0 -------------------------------------------------------------------------------
if command -v mpirun > /dev/null; then
    runs 0 'mpi.json: ' mpirun -n 2 "${train[@]}" --steps 2 --cluster local:2 --trace mpi.json
    lists mpi.json 'device 0, forecast of device 0'
    has mpi.json 0 "$(told)"
else
    skip 'mpirun is not installed'
fi
finish
