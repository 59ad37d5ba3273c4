# Pipelines: planned, verified, trained, saved and read again, on threads and under mpirun.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf saved one four ./*.log pid.*
deep=gpt2:layers=4,hidden=16,heads=2,vocab=256,dropout=0.2,tied=0
make_text text.txt
train=("$pleat" train "$deep" --data text.txt --seq 16 --batch 8 --steps 4 --json)
verify=("$pleat" verify "$deep,seq=16,batch=8" --steps 2)

# -- equal, to the last bit where no sum is made otherwise -------------------------------------------------
runs 0 '' "${train[@]}" --micro 8 --save one
mv out one.log
losses one.log > one.losses
for words in pp=2 pp=4 pp=2,schedule=zbv pp=3,schedule=zb-h1; do # the others: test/program
    [ "$words" = pp=4 ] || ! left_out 3 || continue
    n=${words:3:1}
    runs 0 '' "${train[@]}" --devices "$n" --strategy "$words,micro=8" --save saved
    losses out > losses.log
    check "losses of $words" cmp one.losses losses.log
    check "tensors of $words" cmp one/step-00000004.safetensors saved/step-00000004.safetensors
    if [ "$words" = pp=4 ]; then mv saved four; else rm -r saved; fi
done
# What four stages saved goes on in any way.
for words in pp=2,tp=2,micro=4 dp; do
    left_out 2 && continue
    runs 0 '' "${train[@]}" --devices 4 --strategy "$words" --resume four --steps 6 --eval-every 1
    check "resumed with $words" test "$(losses out | wc -l)" = 2
done

# -- with every other word -----------------------------------------------------------------------------------
for words in pp=2,tp=2,sp,schedule=zb-h2 pp=2,vpp=2,zero=3,recompute=full pp=2,zero=1,offload=optimizer \
    pp=4,recompute=stages:1-0-1 pp=2,schedule=zbv,auto; do
    left_out 2 && continue
    runs 0 '' "${verify[@]}" --devices 4 --strategy "$words,micro=4"
    check "$words is equal" grep -q ' equal ' out
done
runs 0 '' "$pleat" verify t5:layers=2,hidden=16,heads=2,head=8,vocab=64,seq=8,batch=4 --steps 2 --devices 4 \
    --strategy pp=4,micro=4 # what the encoder makes is read by all stages of the decoder
check 'an encoder and a decoder' grep -q ' equal ' out
runs 0 '' "${verify[@]/tied=0/tied=1}" --devices 2 --strategy pp=2,micro=4
check 'a table that two stages read' grep -q ' equal ' out

refuses 4 'in stages updates run on devices|offload=optimizer' "${verify[@]}" --devices 4 \
    --strategy pp=2,offload=updates,micro=4

# -- as a plan -------------------------------------------------------------------------------------------------
plan=("$pleat" plan "$deep,seq=16,batch=8" --cluster local:4)
runs 0 '' "${plan[@]}" --strategy pp=4,micro=8 -o plan.json
check 'the schedule and what none is faster than' grep -q '^pipeline  1f1b: 4 stages on axis pipe, 8 micro-batches' out
check 'its picture' grep -qE '^    3  \.*0AA1BB' out
check 'a row per stage' test "$(sed -n '/^stage/,/^$/p' out | wc -l)" = 6
step_of() { sed -n 's/^step *\([0-9.]*\) ms.*/\1/p' out; }
usual=$(step_of)
runs 0 '' "${plan[@]}" --strategy pp=4,micro=8,schedule=search -o plan.json # for the stages' seconds
check 'a schedule that was searched is no slower' awk "BEGIN { exit !($(step_of) <= $usual) }"
runs 0 '' "${verify[@]}" --strategy plan=plan.json --devices 4
check 'the plan is equal' grep -q ' equal ' out
runs 0 '' "${plan[@]}" --strategy pp=4,micro=8 -o plan.json
# Another order of passes is written into it: GPipe's.
sed 's/"0F0,0F1,0F2,0F3,[^"]*"/"0F0,0F1,0F2,0F3,0F4,0F5,0F6,0F7,0B0,0B1,0B2,0B3,0B4,0B5,0B6,0B7"/' plan.json > other.json
runs 0 '' "${verify[@]}" --strategy plan=other.json --devices 4
check 'another schedule is equal' grep -q ' equal ' out
sed 's/"0F0,0F1,0F2,0F3,[^"]*"/"0B0,0F0,0F1,0F2,0F3,0F4,0F5,0F6,0F7,0B1,0B2,0B3,0B4,0B5,0B6,0B7"/' plan.json > other.json
refuses 3 'other.json: pipeline: ' "${verify[@]}" --strategy plan=other.json --devices 4
sed 's/"0F0,0F1,/"0F1,0F0,/' plan.json > other.json
refuses 4 'rank 0 runs F of stage 0 for micro-batch 1 before that for 0' "${verify[@]}" --strategy plan=other.json --devices 4
runs 0 '' "${plan[@]}" -O 3 --json
check 'pipelines are looked at' grep -q '"strategy": "pp=' out
check 'and how far from the best it can be' grep -q '"floor_seconds": ' out
runs 0 '' "${plan[@]}" --strategy pp=2,micro=4,auto --search tapas
check 'a method searches the layout of stages' grep -q ' by tapas' out
for method in rhino alpa; do # none, 2 or 4 stages
    left_out 2 && continue
    runs 0 '' "${plan[@]}" --search $method --json
    check 'a method plans pipelines' grep -q "\"method\": \"$method\"" out
done

# -- mistakes --------------------------------------------------------------------------------------------------
refuses 2 "say micro=N too, e.g. micro=8" "${plan[@]}" --strategy pp=2
refuses 2 'say pp=N too' "${plan[@]}" --strategy schedule=1f1b,micro=4
refuses 2 "'tp=N' is none of them" "${plan[@]}" --strategy pp=2,micro=4,tp=2,auto
refuses 2 'there is no schedule' "${plan[@]}" --strategy pp=2,micro=4,schedule=fast
refuses 2 'takes 4 micro-batches or more' "${plan[@]}" --strategy pp=2,micro=3,schedule=zbv --batch 9
refuses 2 '4 devices cannot be divided by pp=3' "${plan[@]}" --strategy pp=3,micro=4
refuses 3 'can be cut into' "$pleat" plan mlp:layers=1 --cluster local:64 --strategy pp=64,micro=8 --batch 8
refuses 4 "order 'pleat': the passes of a pipeline keep" "${train[@]}" --devices 2 --strategy pp=2,micro=4 --order pleat
refuses 4 'a policy knows no pipelines' "${plan[@]}" --strategy pp=2,micro=4 --evict dtr --memory 40KB

# -- processes -------------------------------------------------------------------------------------------------
if ! command -v mpirun > /dev/null; then
    skip 'mpirun is not installed'
    finish
fi
runs 0 '' mpirun -n 4 "${train[@]}" --threads 1 --strategy pp=4,micro=8,schedule=zb-h1
losses out > losses.log
check 'losses under mpirun' cmp one.losses losses.log
# A rank that stands still is named, and what of it others wait for.
# shellcheck disable=SC2016 # for the inner shell
timeout 60 mpirun -n 2 bash -c 'echo $$ > pid.$OMPI_COMM_WORLD_RANK; exec "$@"' sh "$pleat" train "$deep" \
    --data text.txt --seq 16 --batch 8 --threads 1 --strategy pp=2,micro=8 --steps 1000000 --timeout 2 > out 2> err \
    < /dev/null &
job=$!
for ((i = 0; i < 300; i++)); do
    ! grep -q '^step 3 ' out || break
    sleep 0.1
done
kill -STOP "$(cat pid.1)"
( until grep -q 'within 2 s' err || [ $((++n)) = 200 ]; do sleep 0.1; done )
kill -CONT "$(cat pid.1)" 2> /dev/null
rc=0
wait $job || rc=$?
check "exit code $rc of a run whose rank stood still" test $rc = 7
check 'it is named' grep -qE '^error: .*rank 1' err
finish
