# Training under mpirun: the same numbers as on threads; ranks that are killed or stand still.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf saved ./*.log pid.*
if ! command -v mpirun > /dev/null; then
    skip_all 'mpirun is not installed'
fi
make_text text.txt
mpirun=(mpirun)
arguments=(train "$tiny" --data text.txt --seq 16 --batch 4 --threads 1)
train=("$pleat" "${arguments[@]}")

# -- numbers ----------------------------------------------------------------------------------------------
runs 0 '' "${train[@]}" --json --steps 20
mv out one.log
for n in 1 2 4; do
    runs 0 '' "${mpirun[@]}" -n $n "${train[@]}" --json --steps 20
    mv out "mpi-$n.log"
    check "losses of mpirun -n $n" same_losses one.log "mpi-$n.log"
done
for i in 1 2; do
    runs 0 '' "${mpirun[@]}" -n 2 "${train[@]}" --steps 5 --save saved
    mv saved/step-00000005.safetensors "tensors-$i.log"
    rm -r saved
done
check 'the same command twice: the same tensors' cmp tensors-1.log tensors-2.log

# -- ways to split ----------------------------------------------------------------------------------------
runs 0 '' "${train[@]}" --json --steps 5
mv out one.log
for split in zero=1 zero=2 zero=3 tp=2 dp=2,tp=2,sp; do
    runs 0 "$split" "${mpirun[@]}" -n 4 "${train[@]}" --json --steps 5 --strategy $split --save saved
    mv out split.log
    check "losses of mpirun -n 4 with $split" same_losses one.log split.log
    runs 0 '' "${train[@]}" --json --steps 6 --resume saved # what four wrote, one reads
    check "resumed from $split" test "$(losses out | wc -l)" = 1
    rm -r saved
done
runs 0 '' "${mpirun[@]}" -n 3 "${train[@]}" --json --steps 5 # 4 rows over 3 devices
check 'losses of mpirun -n 3' same_losses one.log out

# -- mistakes are told once -------------------------------------------------------------------------------
refuses_once() {
    runs "$@"
    check "one error, not $(grep -c '^error: ' err): ${*:3}" test "$(grep -c '^error: ' err)" = 1
}
refuses_once 2 '--devices 4, but the launcher started 2 ranks' "${mpirun[@]}" -n 2 "${train[@]}" --devices 4
refuses_once 2 "unknown option '--nosuch'" "${mpirun[@]}" -n 2 "${train[@]}" --nosuch
refuses_once 2 'tp=3' "${mpirun[@]}" -n 2 "${train[@]}" --strategy tp=3
refuses_once 3 'nofile: cannot read the data' "${mpirun[@]}" -n 2 "${train[@]}" --data nofile
refuses_once 7 'not finite at step 2' \
    "${mpirun[@]}" -n 2 "${train[@]}" --optimizer sgd --clip 0 --lr 1e30
# One process alone cannot start: the others end with it.
# shellcheck disable=SC2016 # for the inner shell
refuses_once 3 'rank 1: nofile: cannot read' "${mpirun[@]}" -n 2 bash -c \
    '[ $OMPI_COMM_WORLD_RANK = 0 ] || set -- "${@/text.txt/nofile}"; exec "$@"' sh "${train[@]}"

# -- a rank is killed, or stands still --------------------------------------------------------------------
# Starts a long run of two processes that tell their ids, and waits for the first checkpoint.
start() {
    rm -rf pid.* saved
    # shellcheck disable=SC2016 # for the inner shell
    timeout 60 "${mpirun[@]}" -n 2 bash -c 'echo $$ > pid.$OMPI_COMM_WORLD_RANK; exec "$@"' sh \
        "${train[@]}" --steps 1000000 --save saved --save-every 5 --timeout 2 > out 2> err < /dev/null &
    for ((i = 0; i < 300; i++)); do
        [ ! -f saved/latest ] || return
        sleep 0.1
    done
    say_failure 'no checkpoint in 30 seconds'
}
ends() { # the run ends by itself, not by its time limit; $1: the code that is expected, or any
    local rc=0
    wait "$job" || rc=$?
    check "exit code $rc of a run that lost a rank" test $rc != 0 -a $rc != 124
    [ "$1" = any ] || check "exit code $rc, not $1" test $rc = "$1"
    runs 0 '' "$pleat" sample saved --bytes 3 # the last checkpoint loads
}
for rank in 0 1; do
    start
    job=$!
    kill -9 "$(cat pid.$rank)"
    ends any
    start
    job=$!
    kill -STOP "$(cat pid.$rank)"
    wait_for=$job
    ( wait_until=$((SECONDS + 40)); while kill -0 "$wait_for" 2> /dev/null && [ $SECONDS -lt $wait_until ]
        do sleep 0.2; done )
    cp err lost.log
    kill -CONT "$(cat pid.$rank)" 2> /dev/null
    ends 7
    for word in "rank $rank" 'within 2 s' 'all-reduce' '--resume saved goes on'; do
        grep -qF -- "$word" lost.log || { cp lost.log err; say_failure "rank $rank stopped: no '$word'"; }
    done
    check 'the lost rank is told once' test "$(grep -c '^error: ' lost.log)" = 1
done
finish
