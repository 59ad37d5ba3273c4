# Training runs as a user starts them: devices, repetition, interruption.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf one two parts whole broken stopped ./*.log ./*.safetensors
make_text text.txt

train=("$pleat" train "$tiny" --data text.txt --seq 16 --batch 4 --threads 1 --json)

# -- devices, and the same command twice ------------------------------------------------------------------
for n in 1 2 4; do
    runs 0 '' "${train[@]}" --steps 20 --devices $n
    mv out "devices-$n.log"
    check "losses on $n devices" same_losses devices-1.log "devices-$n.log"
done
check '20 steps' test "$(losses devices-1.log | wc -l)" = 20
for n in 1 2; do
    for folder in one two; do
        runs 0 '' "${train[@]}" --steps 5 --devices $n --save $folder
        mv out $folder.log
    done
    check "$n devices, twice: the same output" cmp <(grep -v '"done"' one.log) <(grep -v '"done"' two.log)
    for file in latest step-00000005.safetensors; do
        check "$n devices, twice: the same $file" cmp one/$file two/$file
    done
    check "$n devices, twice: the same manifest" cmp <(grep -v '"run":' one/*5.json) <(grep -v '"run":' two/*5.json)
    rm -r one two
done

# -- what does not fit a device whole fits it split -------------------------------------------------------
wide=("$pleat" train gpt2:layers=2,hidden=96,heads=4,vocab=256,seq=16,batch=4 --data synthetic --steps 2
    --threads 1 --devices 4 --memory 3500KiB)
refuses 5 'one device needs|its limit is 3.4 MiB|zero=3' "${wide[@]}" --strategy dp
runs 0 '' "${wide[@]}" --strategy zero=3
for away in optimizer all; do runs 0 "in the host's memory" "${wide[@]}" --strategy offload=$away; done

# -- devices share the memory of their machine: each takes 2/5 of it, which fits two but not three --------
hidden=$(awk '/MemTotal/ { print int(sqrt($2 * 1024 * 0.4 / 16)) }' /proc/meminfo)
large=("$pleat" train "mlp:layers=3,in=8,hidden=$hidden,classes=2,batch=3" --data synthetic --steps 1 --threads 1)
refuses 5 '3 devices need|each, |together; this machine has' "${large[@]}" --devices 3
! command -v mpirun > /dev/null || runs 5 '3 devices need|together; this machine has' mpirun -n 3 "${large[@]}"

# -- ways to split, and what they save --------------------------------------------------------------------
runs 0 '' "${train[@]}" --steps 5
mv out one.log
for split in '2 zero=1' '2 zero=2' '2 zero=3' '2 tp=2' '3 zero=3' '4 zero=3' '4 dp=2,tp=2,sp'; do
    left_out 3 && continue
    runs 0 "${split#* }" "${train[@]}" --steps 5 --devices "${split% *}" --strategy "${split#* }" --save parts
    mv out split.log
    check "losses on $split" same_losses one.log split.log
    runs 0 '' "${train[@]}" --steps 7 --resume parts # on one device
    check "resumed from $split" test "$(losses out | wc -l)" = 2
    rm -r parts
done
# -- activations made again: the same numbers, to the bit ---------------------------------------------------
dropped=("$pleat" train "gpt2:layers=4,hidden=48,heads=4,vocab=256,seq=32,batch=4,dropout=0.2" --data text.txt
    --threads 1 --json --steps 5)
for split in '1 dp' '2 zero=3' '2 tp=2,sp'; do
    runs 0 '' "${dropped[@]}" --devices "${split% *}" --strategy "${split#* }" --save whole
    for again in full 1; do
        left_out 2 && continue
        runs 0 '' "${dropped[@]}" --devices "${split% *}" --strategy "${split#* },recompute=$again" --save parts
        check "weights on $split, recompute=$again" cmp {whole,parts}/step-00000005.safetensors
        rm -r parts
    done
    # -- nor do they change where states or activations lie in the host's memory ------------------------------
    for away in optimizer weights activations all,recompute=full updates updates,offload=weights; do
        left_out 4 && continue
        runs 0 "in the host's memory" "${dropped[@]}" --devices "${split% *}" \
            --strategy "${split#* },offload=$away" --save parts
        check "weights on $split, offload=$away" cmp {whole,parts}/step-00000005.safetensors
        rm -r parts
    done
    rm -r whole
done
biased=("$pleat" train "t5:layers=2,hidden=48,heads=4,head=8,ffn=96,vocab=256,seq=32,batch=4,dropout=0.2"
    --data text.txt --threads 1 --json --steps 5)
for again in tp=2,sp tp=2,sp,recompute=selective,recompute=1; do
    runs 0 '' "${biased[@]}" --devices 2 --strategy "$again" --save "scores-$again"
done
check 'weights on 2 tp=2,sp, recompute=selective,recompute=1' cmp scores-*/step-00000005.safetensors
rm -r scores-*
for again in '' ,recompute=full; do
    runs 0 '' "${dropped[@]}" --devices 2 --strategy "zero=3$again" --micro 2 --save "micro$again"
done
check 'weights by micro-batches, recompute=full' cmp micro/step-00000005.safetensors \
    micro,recompute=full/step-00000005.safetensors
rm -r micro micro,recompute=full
runs 0 '' "$pleat" plan "${dropped[2]}" --devices 2 --strategy zero=3,recompute=2 -o again.json
runs 0 '' "${dropped[@]}" --devices 2 --strategy zero=3 --save whole
runs 0 '' "${dropped[@]}" --plan again.json --save parts
check 'weights by a plan that recomputes' cmp {whole,parts}/step-00000005.safetensors
rm -r parts
runs 0 '' "$pleat" plan "${dropped[2]}" --devices 2 --strategy zero=3,offload=all -o away.json
runs 0 "in the host's memory" "${dropped[@]}" --plan away.json --save parts --host-dir . --host-rate 100MiB
check 'weights by a plan with the host' cmp {whole,parts}/step-00000005.safetensors
check 'a file of the host has no name' test -z "$(find . -name 'pleat-host-*')"
refuses 3 '--host-dir nowhere|No such file|name a folder that is there' "${dropped[@]}" --plan away.json \
    --host-dir nowhere
rm -r parts whole

# -- nor does it where single tensors are made again, as the memory needs it -----------------------------------
images=resnet18:size=64,width=16,classes=10,batch=16
runs 0 '' "$pleat" plan $images --cluster local:1 --memory 14MiB -o images.json
check 'tensors that are made again' grep -q '"recomputed": \[.' <(tr -d '\n' < images.json | sed 's/  */ /g')
for how in '--strategy dp' '--plan images.json'; do
    # shellcheck disable=SC2086
    runs 0 '' "$pleat" train $images --data synthetic --steps 3 --threads 1 $how --save "${how##* }-save"
done
check 'weights where tensors are made again' cmp {dp,images.json}-save/step-00000003.safetensors
rm -r ./*-save

# -- whoever says which they are ------------------------------------------------------------------------------
full=("$pleat" train "gpt2:layers=4,hidden=48,heads=4,vocab=256,seq=32,batch=16,dropout=0.2" --data text.txt
    --threads 1 --json --steps 2 --eval-batches 0 --devices 2 --strategy zero=1)
runs 0 '' "${full[@]}" --save whole
for policy in delta dtr pleat; do
    left_out 3 && continue
    runs 0 "zero=1, $policy: " "${full[@]}" --memory 3500KiB --evict $policy --save parts
    check "weights as $policy evicts" cmp {whole,parts}/step-00000002.safetensors
    rm -r parts
done
rm -r whole
refuses 5 "'given' found nothing that fits" "${full[@]}" --memory 3500KiB --evict given
refuses 2 "no eviction policy 'any'" "${full[@]}" --evict any

runs 0 'zero=3' "${train[@]}" --steps 5 --devices 4 --strategy zero=3 --gathers-ahead 0 --bucket 1KiB
check 'gathered just in time: the same losses' same_losses one.log out
runs 0 'zero=3' "${train[@]}" --steps 5 --devices 4 --strategy zero=3 --gather-steps 1B --program
check 'gathered in steps: the same losses' same_losses one.log out
check 'blocks are broadcast' grep -q 'broadcast over data peer 3 ' err
refuses 2 nosuch "${train[@]}" --devices 2 --strategy nosuch
refuses 2 '4 devices cannot be divided by tp=3' "${train[@]}" --devices 4 --strategy tp=3

# -- micro-batches: the same rows, a step at the end ------------------------------------------------------
steady=("$pleat" train "${tiny/dropout=0.2/dropout=0}" --data text.txt --seq 16 --batch 8 --threads 1 --json)
runs 0 '' "${steady[@]}" --steps 5
mv out one.log
for split in '1 dp' '2 dp' '2 zero=2' '2 zero=3'; do
    left_out 3 && continue
    runs 0 'the last of 4 micro-batches' "${steady[@]}" --steps 5 --micro 4 --devices "${split% *}" --strategy "${split#* }"
    check "losses in micro-batches on $split" same_losses one.log out
done
for micro in 1 4; do
    runs 0 '' "${steady[@]/text.txt/synthetic}" --steps 3 --micro $micro
    mv out "drawn-$micro.log"
done
check 'drawn rows are the same in micro-batches' same_losses drawn-1.log drawn-4.log
refuses 2 'batch=8 does not divide into 3 micro-batches: give --batch 9' "${steady[@]}" --micro 3
refuses 2 '--micro: 0 is below 1' "${steady[@]}" --micro 0

# -- data in tensors: the same on any devices, and resumed in the middle ----------------------------------
make_rows rows.safetensors
rows=("$pleat" train "$tiny" --data rows.safetensors --seq 16 --batch 4 --threads 1 --json)
for order in random file; do
    rm -rf whole
    runs 0 'rows.safetensors: 450 rows to learn, 50 to validate' "${rows[@]}" --steps 6 --data-order $order \
        --save whole --save-every 3 --keep 2
    mv out $order.log
    for split in '2 dp' '4 zero=3' '2 tp=2'; do
        left_out 3 && continue
        runs 0 '' "${rows[@]}" --steps 6 --data-order $order --devices "${split% *}" --strategy "${split#* }"
        check "losses of rows, $order, on $split" same_losses $order.log out
    done
    runs 0 '' "${rows[@]}" --steps 6 --data-order $order --resume whole/step-00000003.json --save parts
    check "$order rows, resumed: the same weights" cmp whole/step-00000006.safetensors parts/step-00000006.safetensors
    rm -r parts
done
check 'another order, other losses' test "$(losses random.log)" != "$(losses file.log)"
runs 0 'resuming with other settings: data_order was "file", is "random"' "${rows[@]}" --steps 6 \
    --resume whole/step-00000003.json
cp rows.safetensors other.safetensors
printf x | dd of=other.safetensors bs=1 seek=5000 conv=notrunc 2> /dev/null
refuses 3 'cannot resume whole|now have other contents' "${rows[@]}" --data other.safetensors --steps 6 --resume whole
rm -r whole

# -- weights to start from: exactly those, on any devices -------------------------------------------------
runs 0 '' "${train[@]}" --steps 3 --save whole
runs 0 "whole: 16 of 16 states loaded; of the file not used: 'h.0.attn.c_attn.bias.m', " \
    "${train[@]}" --steps 0 --weights whole --save one --seed 7
runs 0 '16 of 16 states loaded' "${train[@]}" --steps 0 --weights one/step-00000000.safetensors --save two --seed 7
check 'weights loaded and saved again' cmp one/step-00000000.safetensors two/step-00000000.safetensors
runs 0 '' "${train[@]}" --steps 0 --weights whole --save parts --seed 7 --devices 4 --strategy zero=3
check 'weights loaded on four devices' cmp one/step-00000000.safetensors parts/step-00000000.safetensors
runs 0 '' "${train[@]}" --steps 0 --save broken --seed 7
check 'other weights than the initial ones' test "$(cmp -s one/step-00000000.safetensors \
    broken/step-00000000.safetensors; echo $?)" = 1
rm -r whole one two parts broken

# -- kill -9 at any moment, then go on: the end is that of a run that was never killed --------------------
long=("${train[@]}" --steps 120 --save-every 1 --keep 2 --eval-batches 0)
runs 0 '' "${long[@]}" --save whole
newest() { cat broken/latest 2> /dev/null; }
resume=()
for i in 1 2 3 4 5; do
    left_out 3 && continue
    before=$(newest)
    "${long[@]}" --save broken ${resume[@]+"${resume[@]}"} > /dev/null 2> err &
    for ((k = 0; k < 300; k++)); do # the first save, and then a little more
        [ "$(newest)" = "$before" ] || break
        sleep 0.02
    done
    sleep "0.0$((RANDOM % 10))"
    kill -9 $! 2> /dev/null
    wait $! 2> /dev/null
    echo "kill $i: $(newest)"
    resume=(--resume broken)
done
runs 0 '' "${long[@]}" --save broken "${resume[@]}"
check 'killed and resumed: the same tensors' \
    cmp whole/step-00000120.safetensors broken/step-00000120.safetensors
check 'killed and resumed: the same manifest' \
    cmp <(grep -v '"run":' whole/step-00000120.json) <(grep -v '"run":' broken/step-00000120.json)
check 'no temporary file stays' test -z "$(find broken -name '*.tmp')"

# -- Ctrl-C -----------------------------------------------------------------------------------------------
# Jobs of a script ignore SIGINT, and whoever has started the script may too.
env -u OMP_WAIT_POLICY --default-signal=INT "${train[@]}" --steps 1000000 --save-every 1 --save stopped > out 2> err &
for ((i = 0; i < 300; i++)); do
    [ ! -f stopped/latest ] || break
    sleep 0.1
done
check 'without settings of its threads it makes them' grep -qzx 'GOMP_SPINCOUNT=10000' "/proc/$!/environ"
kill -INT $!
rc=0
wait $! 2> /dev/null || rc=$?
check "Ctrl-C ends with 130, not $rc" test $rc = 130
runs 0 '' "$pleat" sample stopped --bytes 3
finish
