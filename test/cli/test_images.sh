# Training on pictures as a user starts it: made-up ones are learned, on any number of devices, and a run
# that was stopped goes on the same.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf pictures folder one two parts ./*.log ./*-ubyte ./*.bin

draw_folder pictures
vit=vit_b_16:layers=1,hidden=24,ffn=48,heads=3,patch=4,size=12,classes=4,batch=16
learns() { # a --json log: the last accuracy is above 0.9
    awk -F'"accuracy": ' '/accuracy/ { split($2, x, /[,}]/); last = x[1] } END { exit !(last > 0.9) }' "$1"
}

# -- learned, however it is split -----------------------------------------------------------------------------
train=("$pleat" train "$vit" --data pictures --steps 120 --lr 5e-3 --threads 1 --json)
runs 0 'pictures: 200 pictures to learn, 40 to validate' "${train[@]}"
check 'the squares are learned' learns out
runs 0 '' "${train[@]}" --augment crop
check 'and when they are moved' learns out
runs 0 '' "$pleat" train "$vit" --data pictures --steps 1 --threads 1
check 'accuracy in text' grep -Eq '^step 1 validation [0-9.]+ nats, accuracy 0\.[0-9]{4}$' out
some=("${train[@]}" --augment crop,flip,scale=0.5,mixup=0.4 --steps 12)
for n in 1 2 3; do
    runs 0 '' "${some[@]}" --devices $n
    mv out "devices-$n.log"
    check "losses on $n devices" same_losses devices-1.log "devices-$n.log"
done
runs 0 '' "${some[@]}" --devices 2 --strategy zero=3 --micro 2
mv out micro.log
runs 0 '' "${some[@]}" --micro 2
check 'losses of micro-batches, zero=3' same_losses micro.log out
net="resnet18:stages=2,blocks=1,width=8,size=12,classes=4,batch=8"
for split in dp spatial=2; do
    runs 0 '' "$pleat" train $net --data pictures --steps 6 --threads 1 --json --augment crop,mixup --devices 2 \
        --strategy $split
    mv out $split.log
done
check 'losses on spatial=2' same_losses dp.log spatial=2.log
runs 0 '' "$pleat" train $net,dtype=bf16 --data pictures --steps 2 --threads 1 --augment mixup
! command -v mpirun > /dev/null || {
    runs 0 '' mpirun -n 2 "${some[@]}"
    check 'losses under mpirun' same_losses devices-1.log out
}
runs 0 '' "$pleat" verify $net,mixup=1 --devices 2 --strategy dp

# -- stopped and resumed: the same bytes ----------------------------------------------------------------------
runs 0 '' "${some[@]}" --save one --save-every 5 --keep 9
runs 0 '' "${some[@]}" --save two --resume one/step-00000005.json
check 'the same weights after a resume' cmp {one,two}/step-00000012.safetensors
runs 0 'resuming with other settings: augment was "crop,flip,scale=0.5,mixup=0.4", is "mixup"' "${some[@]}" \
    --resume one/step-00000005.json --augment mixup
rm -r one two
runs 0 '' "$pleat" train "$vit" --data pictures --data-order file --steps 2 --threads 1

# -- other kinds of files -------------------------------------------------------------------------------------
printf %b "$(draw 20 3 both)" > some.bin
runs 0 'some.bin: 18 pictures to learn, 2 to validate' "$pleat" train "${vit/classes=4/classes=10}" --data some.bin \
    --steps 2 --threads 1

# -- what is wrong: one error, exit code 3 --------------------------------------------------------------------
refuses 3 'some.bin: picture 0 has the label|the model has 2 classes, from 0 on|write classes=4' \
    "$pleat" train "${vit/classes=4/classes=2}" --data some.bin
head -c 5000 some.bin > cut.bin
refuses 3 'cut.bin: it has 5000 bytes, and neither begins as a file of IDX' "$pleat" train "$vit" --data cut.bin
refuses 3 'nowhere: cannot open: No such file' "$pleat" train "$vit" --data nowhere
mkdir -p folder/a folder/b
refuses 3 'folder/a has no pictures: |folder/b has no pictures' "$pleat" train "$vit" --data folder
for i in 1 2 3 4; do printf '\211PNG\r\n\032\n' > folder/a/$i.png && cp folder/a/$i.png folder/b; done
for n in 1 2; do
    runs 3 'folder/|.png: not a whole PNG: ' "$pleat" train "$vit" --data folder --devices $n --threads 1
done

# -- a file that breaks while it is trained on: named, exit code 3, and the checkpoints stay ------------------
rm -rf folder run
mkdir -p folder/a folder/b
for i in {1..6}; do # of one pixel
    base64 -d <<< iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg== \
        | tee folder/a/$i.png > folder/b/$i.png
done
broken=("$pleat" train "${vit/classes=4/classes=2}" --data folder --threads 1 --lr 1e-3 --lr-min 1e-3 --save run)
for how in gone empty cut; do
    for devices in 1 2; do
        rm -rf run
        "${broken[@]}" --save-every 4 --devices $devices --steps 1000000 > out 2> err < /dev/null &
        job=$!
        for ((i = 0; i < 300; i++)); do
            ! grep -qs '^saved step 8 ' err || break
            sleep 0.1
        done
        cp folder/b/2.png whole.png
        case $how in
        gone) rm folder/b/2.png ;;
        empty) : > folder/b/2.png ;;
        cut) head -c 50 whole.png > folder/b/2.png ;;
        esac
        rc=0
        wait $job || rc=$?
        check "$how: it ends with $rc" test $rc = 3
        check "$how: the file is named" grep -Eq '^error: (rank [01]: )?folder/b/2.png: ' err
        check "$how: how to go on" grep -Eq '; --resume run goes on from step-[0-9]{8}.json$' err
        mv whole.png folder/b/2.png
        step=$(sed -n 's/.*goes on from step-0*\([0-9]*\).json$/\1/p' err)
        runs 0 '' "${broken[@]}" --devices $devices --resume run --steps $((step + 2))
    done
done
rm -rf folder run
refuses 4 "model 'mlp' reads vectors" "$pleat" train mlp --data some.bin
finish
