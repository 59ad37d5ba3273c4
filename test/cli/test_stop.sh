# Runs that are asked for their end, and runs that nobody listens to: nothing is lost.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf whole run ./*.log ./*.csv
make_text text.txt
train=("$pleat" train "$tiny" --data text.txt --seq 16 --batch 4 --threads 1 --eval-batches 0)
endless=("${train[@]}" --steps 1000000 --lr-min 1e-3) # at a constant rate: --steps is no part of the numbers

# How many threads of a process SIGTERM may come to.
count_open() { # PROCESS
    local mask n=0
    for mask in $(sed -n 's/^SigBlk:\t//p' /proc/"$1"/task/*/status); do
        [ $((0x$mask & 1 << 14)) != 0 ] || n=$((n + 1))
    done
    echo $n
}

# Starts it, waits for a line of a step (in the file out), sends the signal, and leaves the exit code
# in rc and in open how many threads the signal might have come to.
stop_with() { # SIGNAL COMMAND...
    local signal=$1
    shift
    rm -f out err
    # Jobs of a script ignore SIGINT, and whoever has started the script may too.
    env --default-signal=INT "$@" > out 2> err < /dev/null &
    job=$!
    for ((i = 0; i < 300; i++)); do
        ! grep -qsE '^(step |."step": )20[ ,]' out || break
        sleep 0.1
    done
    open=$(count_open $job)
    kill -"$signal" $job
    rc=0
    wait $job || rc=$?
}
# What goes on from step N on some devices has to be what was never stopped.
same_as_whole() { # DEVICES TEXT
    local step=0 again=("${train[@]}" --lr-min 1e-3 --devices "$1")
    step=$(sed -n 's/.*saved step \([0-9]*\); go on with --resume run$/\1/p' err)
    check "says what was saved: $*" test -n "$step" -a -f "run/step-$(printf %08d "$step").json"
    runs 0 '' "${again[@]}" --steps $((step + 3)) --save whole
    runs 0 '' "${again[@]}" --steps $((step + 3)) --resume run --save run
    check "stopped and resumed: the same tensors: $*" \
        cmp {whole,run}/"step-$(printf %08d $((step + 3))).safetensors"
    rm -rf whole run
}

for devices in 1 2; do
    for signal in INT:130 TERM:143 USR1:138; do
        [ $devices = 1 ] || [ $signal != USR1:138 ] || continue
        stop_with "${signal%:*}" "${endless[@]}" --devices $devices --save run
        check "${signal%:*} ends with $rc" test $rc = "${signal#*:}"
        check "one thread handles signals, and does nothing else: $open" test "$open" = 1
        check "says who stopped it" grep -q "^stopped by SIG${signal%:*}: saved step" err
        check 'no lock stays' test ! -e run/lock
        [ $devices$signal = 1TERM:143 ] || { rm -r run; continue; }
        same_as_whole $devices "$signal"
    done
done
stop_with TERM "${endless[@]}"
check "TERM without --save ends with $rc" test $rc = 143
check 'says that nothing was saved' grep -q '^stopped by SIGTERM: nothing was saved: no --save$' err
stop_with INT "${endless[@]}" --json
check 'JSON says so' grep -q '^{"done": "SIGINT", "step": [0-9]*, "seconds": .*, "saved": false}$' out

# -- a second signal ends it at once; those that come together are one ------------------------------------
big=("$pleat" train gpt2:layers=4,hidden=512,heads=8,vocab=256 --data text.txt --seq 256 --batch 32 --threads 1
    --steps 1000 --devices 1 --save run) # a step takes seconds
rm -f out err
"${big[@]}" > out 2> err < /dev/null &
job=$!
for ((i = 0; i < 300; i++)); do
    ! grep -qs 'to validate' err || break
    sleep 0.1
done
kill -TERM $job
sleep 0.1
kill -TERM $job
sleep 1.5
check 'two signals at once are one' kill -0 $job
kill -TERM $job
rc=0
wait $job || rc=$?
check "a later one ends it at once: $rc" test $rc = 143
check 'then nothing is saved' test ! -e run/latest
rm -rf run

# -- nobody reads -----------------------------------------------------------------------------------------
"${train[@]}" --steps 300 --save run 2> err | head -n 1 > out
rc=${PIPESTATUS[0]}
check "stdout is closed: exit code $rc" test "$rc" = 0 -a -f run/step-00000300.json
rm -r run
{ "${train[@]}" --steps 300 --save run 2>&1 > out; echo $? > code.log; } | head -n 1 > err
check 'stderr is closed' test "$(cat code.log)" = 0 -a -f run/step-00000300.json
rm -r run
"${train[@]}" --steps 100000 2> err | head -n 1 > out
check 'without --save a closed stdout ends it' test "${PIPESTATUS[0]}" = 141

# -- mpirun -----------------------------------------------------------------------------------------------
if ! command -v mpirun > /dev/null; then
    skip 'mpirun is not installed'
    finish
fi
# It tells its processes to end after sigkill_timeout seconds, and kills them as many seconds later.
mpirun=(mpirun --mca odls_base_sigkill_timeout 2 -n 2)
for signal in TERM USR1; do # INT is TERM to them
    stop_with $signal "${mpirun[@]}" "${endless[@]}" --save run
    check "mpirun, $signal: an exit code" test $rc != 0
    check "mpirun, $signal: no lock stays" test ! -e run/lock
    [ $signal != USR1 ] || check "mpirun hands on USR1: $rc" test $rc = 138
    check "mpirun, $signal: it is saved" test -f run/latest
    [ $signal = USR1 ] || { rm -rf run; continue; }
    same_as_whole 2 "mpirun, $signal"
done
finish
