# What users get wrong: the documented exit code, and a message with place, numbers and next step.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf ./*.txt ./*.safetensors configs folder saved damaged small*
make_text text.txt
head -c 100 text.txt > short.txt
mkdir folder

train=("$pleat" train "$tiny" --data text.txt --seq 16 --batch 4 --threads 1 --steps 2)

# -- usage: 2 ---------------------------------------------------------------------------------------------
runs 2 'usage: pleat COMMAND' "$pleat"
refuses 2 "no command 'trian' (did you mean 'train'?)|pleat --help" "$pleat" trian
refuses 2 "no command 'xyzzy'|pleat --help" "$pleat" xyzzy
for command in doctor models ops graph train sample; do
    refuses 2 "unknown option '--nosuch'|pleat $command --help" "$pleat" $command --nosuch
done
refuses 2 "unknown option '--step' (did you mean '--steps'?)" "$pleat" train mlp --step 3
refuses 2 'MODEL is missing|pleat train --help' "$pleat" train
refuses 2 'MODEL is missing' "$pleat" graph
refuses 2 'DIR is missing' "$pleat" sample
refuses 2 "unexpected 'mlp'" "$pleat" train mlp mlp
refuses 2 '--data is missing: a text file, FILE.safetensors, a log of clicks, pictures or synthetic' "$pleat" train "$tiny"
refuses 2 '--seq needs a value (N)' "$pleat" train "$tiny" --seq
refuses 2 '--json takes no value' "$pleat" models --json=1
refuses 2 '--steps: -1 is below 0' "${train[@]}" --steps -1
refuses 2 '--devices: 0 is below 1' "${train[@]}" --devices 0
refuses 2 '--devices 1000: at most 256' "${train[@]}" --devices 1000
refuses 2 '--batch: 0 is below 1' "${train[@]}" --batch 0
refuses 2 "--lr: 'nan' is not a number" "${train[@]}" --lr nan
refuses 2 "--lr: '-inf' is not a number" "${train[@]}" --lr=-inf
refuses 2 '--lr: -1 is below 0' "${train[@]}" --lr -1
refuses 2 "--timeout: 'nan' is not a number" "${train[@]}" --timeout nan
refuses 2 "--seed: 'x' is not a whole number" "${train[@]}" --seed x
refuses 2 "--seed: '1.5' is not a whole number" "${train[@]}" --seed 1.5
refuses 2 "--seed: '99999999999999999999' is not" "${train[@]}" --seed 99999999999999999999
refuses 2 '--threads: 99999999999 is above 4096' "${train[@]}" --threads 99999999999
refuses 2 '--keep: 99999999999 is above' "${train[@]}" --keep 99999999999
refuses 2 "--bucket: '12 apples' is not a size such as 512MiB" "${train[@]}" --bucket '12 apples'
refuses 2 "--train-share 1 is not between 0 and 1" "${train[@]}" --train-share 1
refuses 2 "beta1 is 1|[0, 1)" "${train[@]}" --beta1 1
refuses 2 "momentum is 1.5|[0, 1]" "${train[@]}" --optimizer sgd --momentum 1.5
refuses 2 "no backend 'foo' (built in:|native ref null" "${train[@]}" --backend foo
refuses 2 "no backend 'foo'" "$pleat" sample folder --backend foo
refuses 2 '--matmul f16: f32 or bf16' "${train[@]}" --matmul f16
refuses 2 '--matmul i32' "${train[@]}" --matmul i32
refuses 2 '--lr-schedule step: write step:every=N,factor=X' "${train[@]}" --lr-schedule step
refuses 2 '--lr-min 5 is above --lr 0.001: the rate would rise' "${train[@]}" --lr-min 5
for own in '--lr 5' '--clip 0' '--optimizer sgd' '--micro 2' '--warmup 3'; do
    # shellcheck disable=SC2086
    refuses 2 'has no effect with --method admm' "$pleat" train elman --method admm --data synthetic $own
    # shellcheck disable=SC2086
    refuses 2 "has no effect with the model's method=admm" "$pleat" train elman:method=admm --data synthetic $own
done
refuses 2 "--optimizer has no effect with the model's method=admm" \
    "$pleat" plan elman --bind method=admm --devices 2 --optimizer sgd
runs 0 '' "$pleat" graph elman:method=admm --method gradient --optimizer sgd # the option has the last word
refuses 2 'a step of this method takes its whole batch at once' \
    "$pleat" plan elman:batch=4 --method admm --devices 2 --strategy pp=2,micro=2
refuses 2 "lazy-adam in micro-batches would change rows of 'emb_l.0.weight'|leave them out, or take adam" \
    "$pleat" verify dlrm --devices 2 --strategy micro=2 --optimizer lazy-adam
refuses 2 '--times 0,0,0: a stage takes no time at all' \
    "$pleat" schedule search --ranks 4 --micro 8 --times 0,0,0
refuses 2 '--lr-min has no effect with --lr-schedule constant' "${train[@]}" --lr-schedule constant --lr-min 1e-4
refuses 2 "unknown optimizer 'foo' (one of: adamw, adam, adabelief, lamb, adagrad, rowwise-adagrad, sgd, lazy-adamw, lazy-adam)" "${train[@]}" --optimizer foo
refuses 2 "unknown optimizer 'foo'" "$pleat" graph mlp --optimizer foo
refuses 2 "unknown option '--cluter' (did you mean '--cluster'?)" "$pleat" plan --cluter 8xa100
check 'one error for one slip' test "$(grep -c '^error' err)" = 1
refuses 2 "unknown option '--o' (did you mean '-o'?)" "$pleat" plan mlp --o x.json
refuses 2 "unknown option '-x'" "$pleat" plan mlp -x
refuses 2 "--data needs a value (FILE)" "$pleat" train mlp --data --steps 3
refuses 2 "--memory: '40' has no unit: write B, KiB" "$pleat" plan mlp --devices 2 --memory 40
runs 0 '' "$pleat" plan mlp --devices 2 --memory 40MiB --gathers-ahead 0
for option in --save --log --plan --weights --host-dir; do
    refuses 2 "$option: the name is empty, give " "${train[@]}" $option ''
done
refuses 2 '-o: the name is empty, give FILE' "$pleat" plan mlp --devices 2 -o ''
refuses 2 'an argument is empty, give PLAN...' "$pleat" show ''
runs 0 '' "$pleat" models '' --help # help comes first
# Given twice: told to a shell, so that nothing here takes one of them away.
refuses 2 '--steps is given twice' bash -c '"$@" --steps 3 --steps 3' x "${train[@]/--steps/--micro}"
refuses 2 '--out is given twice' bash -c '"$@" -o x.yaml --out y.yaml' x "$pleat" probe
refuses 2 '--json is given twice' bash -c '"$@" --json --json' x "$pleat" doctor
# Without effect beside another.
refuses 2 '--search has no effect with --strategy tp=2, only with --strategy auto' \
    "$pleat" plan mlp --devices 2 --search tofu --strategy tp=2
refuses 2 "strategy 'plan=' names no file" "$pleat" train mlp --data synthetic --strategy plan=
refuses 2 '-O has no effect with --strategy dp|--axes has no effect' "$pleat" plan mlp --devices 2 -O1 --axes 1 --strategy dp
refuses 2 '--keep has no effect without --save|--save-every has no effect without --save' "${train[@]}" --keep 2 --save-every 1
refuses 2 '--eval-every has no effect with --eval-batches 0' "${train[@]}" --eval-batches 0 --eval-every 3
refuses 2 '--momentum has no effect with the usual --optimizer adamw, only with --optimizer sgd' "${train[@]}" --momentum 0.5
refuses 2 '--beta1 has no effect with --optimizer sgd' "${train[@]}" --optimizer sgd --beta1 0.5
refuses 2 'give --strategy or --plan, not both' "${train[@]}" --strategy dp --plan x.json
refuses 2 '--link-rate has no effect on one device' "${train[@]}" --link-rate 1MiB
refuses 2 '--link-rate has no effect on one device' "$pleat" verify mlp --strategy dp --link-rate 1MiB
runs 0 'note: --host-dir has no effect|note: --host-rate has no effect' "${train[@]}" --host-dir . --host-rate 1MiB
runs 0 'note: --host-dir has no effect' "$pleat" verify mlp --devices 2 --strategy dp --host-dir .
runs 0 '' "$pleat" verify mlp --devices 2 --strategy zero=3,offload=all --host-dir .
check 'nothing is said where something is offloaded' test -z "$(grep '^note' err)"
runs 0 'note: --evict dtr has no effect: the plan fits in memory as it is' "${train[@]}" --evict dtr
runs 0 'note: --evict dtr has no effect' "$pleat" plan mlp --devices 2 --evict dtr
refuses 2 'give --text or --json, not both' "$pleat" graph mlp --text --json
refuses 2 '--top has no effect with --temperature 0' "$pleat" sample x --temperature 0 --top 3
refuses 2 '--capacity has no effect without --csv' "$pleat" memory mlp --capacity 1MiB
refuses 2 'give --html or --csv, not both' "$pleat" memory --csv x.csv --html y.html
runs 0 '' "${train[@]}" --eval-every 0 --eval-batches 0 # what goes without saying
# All mistakes are named at once.
refuses 2 "--stps|--seed: 'x'|--lr: 'y'" "$pleat" train mlp --stps=3 --seed x --lr y

# -- models on the command line: 2; in files: 3 --------------------------------------------------------------------------------------------
refuses 2 "unknown model 'gpt3' (did you mean 'gpt2'?|resnet50" "$pleat" graph gpt3
refuses 2 "unknown model 'GPT2' (did you mean 'gpt2'?" "$pleat" graph GPT2
refuses 2 "gpt2:layers=2,layers=3: key layers is given twice" "$pleat" graph gpt2:layers=2,layers=3
refuses 2 '--bind: key in is given twice' "$pleat" memory mlp --bind in=4,in=5
runs 0 '' "$pleat" graph mlp:batch=4 --batch 8 --text # the option has the last word
check 'one batch' grep -q '^graph mlp:batch=8$' out
refuses 2 "no key 'layer' (did you mean 'layers'?)|Its keys: layers=12" "$pleat" graph gpt2:layer=3
refuses 2 "no key 'layer'|hidden=x is not|'foo' is not key=value" "$pleat" graph gpt2:layer=3,hidden=x,foo
refuses 2 "tied=2 is out of range (at least 0, at most 1)" "$pleat" graph gpt2:tied=2
refuses 2 "rope_low=2 has no effect with rope=default, only with rope=yarn|k=4 has no effect with experts=0" \
    "$pleat" plan llama:rope_low=2.0,k=4 --devices 2
mkdir configs
echo '{"model_type": "mamba"}' > configs/mamba.json
echo '{"model_type": "gpt2", "n_layer": 2, "n_embd": -8, "vocab_size": 9, "new_idea": 1}' > configs/config.json
refuses 4 'configs/mamba.json: model_type=mamba is not known (only gpt2, llama' "$pleat" graph configs/mamba.json
refuses 3 'configs/config.json: model_type=gpt2: n_embd=-8 is below 1; n_head is missing; new_idea=1 is not known' \
    "$pleat" plan configs --cluster 8xh100
echo '{"model_type": "gpt2", "n_layer": 2, "n_embd": 8, "n_head": 2, "vocab_size": 256}' > configs/config.json
runs 0 '' "$pleat" graph configs:seq=4
check 'a folder with config.json is a model' grep -q '^gpt2:layers=2,hidden=8,heads=2,vocab=256,positions=1024,seq=4' out
refuses 2 "no key 'layer'" "$pleat" graph configs:layer=3
refuses 3 'configs/none.json' "$pleat" graph configs/none.json
refuses 2 'hidden=768 does not divide into heads=5|hidden=770' "$pleat" graph gpt2:heads=5
refuses 2 'hidden=768 does not divide into heads=5' "$pleat" train gpt2:heads=5 --data text.txt --seq 8
cp "$PLEAT_SOURCE_DIR/examples/tiny.onnx" 'a:b.onnx'
runs 0 '' "$pleat" graph a:b.onnx:seq=8
check 'a colon in the name of a file' grep -q '^a:b.onnx:seq=8' out
refuses 2 "no key 'sex' (did you mean 'seq'?)" "$pleat" graph a:b.onnx:sex=8
refuses 2 "strategy 'dp=2,tp=2' takes dp=2 x tp=2 = 4 devices, and there are 3" "${train[@]}" --devices 3 --strategy dp=2,tp=2
refuses 3 'vocab=100 is too small|vocab=256' "${train[@]/vocab=256/vocab=100}"
refuses 3 'classes=100 are too few|classes=256' "$pleat" train roberta-base:layers=1,classes=100 --data text.txt --seq 8
refuses 4 "model 'mlp' reads vectors|--data synthetic" "$pleat" train mlp --data text.txt
refuses 3 'text.txt: it has |bytes, and neither begins as a file of IDX pictures does' \
    "$pleat" train resnet18:size=32 --data text.txt
refuses 2 '--augment changes pictures: --data text.txt has none' "${train[@]}" --augment crop
refuses 2 '--augment turn: there are crop, flip, scale=0.08, mixup=0.2' "${train[@]}" --augment crop,turn
refuses 2 "--augment mixup: 'gpt2' does not mix pictures" "${train[@]}" --augment mixup

# -- files: 3 ---------------------------------------------------------------------------------------------
refuses 3 'nofile: cannot read the data: No such file|synthetic' "${train[@]}" --data nofile
refuses 3 'folder: not a regular file' "${train[@]}" --data folder
refuses 3 'short.txt: 100 bytes give 90 for training and 10 for validation|--seq 16 needs 17|longer file' \
    "${train[@]}" --data short.txt
make_rows rows.safetensors
refuses 3 "'tokens' is i32[rows,8] here, U8[500,16] in the file|'targets' is i32[rows,8]" \
    "${train[@]}" --data rows.safetensors --seq 8
refuses 3 "vocab=100 is too small" "${train[@]/vocab=256/vocab=100}" # text
refuses 3 "of 'tokens' has 1|at least 0 and below 100|of 'targets' has 1" \
    "${train[@]/vocab=256/vocab=100}" --data rows.safetensors
refuses 3 "rows.safetensors: 'x' f32[rows,64] is missing; 'label' i32[rows] is missing; the file has 'targets', 'tokens'" \
    "$pleat" train mlp --data rows.safetensors
refuses 3 'rows.safetensors: 500 rows give 0 for training' "${train[@]}" --data rows.safetensors --train-share 0.001
head -c 3000 rows.safetensors > cut.safetensors
refuses 3 'cut.safetensors: truncated: 3000 bytes found' "${train[@]}" --data cut.safetensors
refuses 3 'nofile.safetensors: cannot open' "${train[@]}" --data nofile.safetensors
refuses 2 '--data-order abc: random or file' "${train[@]}" --data-order abc
refuses 2 '--data-order file is for rows: --data FILE.safetensors, a log FILE.tsv, or pictures' "${train[@]}" --data-order file
refuses 3 "rows.safetensors: 0 of 16 states loaded; not found: " "${train[@]}" --weights rows.safetensors
refuses 3 'folder: no model.safetensors.index.json and 0 files *.safetensors' "${train[@]}" --weights folder
refuses 2 '--resume goes on from a checkpoint' "${train[@]}" --weights rows.safetensors --resume folder
refuses 3 'one row of --seq 200000 needs 200001' "${train[@]}" --seq 200000
: > empty.txt
refuses 3 'empty.txt: 0 bytes' "${train[@]}" --data empty.txt
if [ "$(id -u)" = 0 ]; then
    skip 'unreadable file: root reads everything'
else
    cp text.txt locked.txt
    chmod 000 locked.txt
    refuses 3 'locked.txt: cannot read the data: Permission denied' "${train[@]}" --data locked.txt
fi
refuses 3 'text.txt: not a folder' "${train[@]}" --save text.txt
refuses 3 'text.txt/x: cannot create the folder: Not a directory' "${train[@]}" --save text.txt/x
refuses 3 'no/such: cannot create the folder|create its parent first' "${train[@]}" --save no/such

# -- checkpoints: 3 ---------------------------------------------------------------------------------------
for command in train sample; do
    go=("${train[@]}" --resume)
    [ $command = train ] || go=("$pleat" sample)
    refuses 3 "no checkpoint in 'folder': there is no file 'latest'|step-*.json" "${go[@]}" folder
    refuses 3 'none: cannot open the checkpoint: No such file' "${go[@]}" none
    refuses 3 'text.txt: bad JSON at line 1' "${go[@]}" text.txt
done
refuses 3 'none: cannot open' "$pleat" sample none --json

runs 0 'saved step 2 in saved' "${train[@]}" --save saved
data=step-00000002.safetensors
manifest=step-00000002.json
runs 0 '' "$pleat" sample saved --bytes 5
check 'sample printed 5 bytes and the ends of lines' test "$(wc -c < out)" -ge 6
damage() { # leaves a copy of the checkpoint in damaged/
    rm -rf damaged
    cp -r saved damaged
}
damage
truncate -s -10 damaged/$data
refuses 3 "damaged/$data|bytes|without a good copy" "${train[@]}" --resume damaged
refuses 3 "damaged/$data" "$pleat" sample damaged
damage
size=$(wc -c < damaged/$data)
printf '\377\377' | dd of=damaged/$data bs=1 seek=$((size / 2)) conv=notrunc 2> /dev/null
refuses 3 "damaged/$data: tensor '|is damaged|XXH3-128" "${train[@]}" --resume damaged
damage
sed -i 's/"pleat_checkpoint": 1,/"pleat_checkpoint": 99,/' damaged/$manifest
refuses 3 "damaged/$manifest: written by a newer pleat: version 99" "${train[@]}" --resume damaged
damage
rm damaged/$data
refuses 3 "damaged/$data|No such file" "${train[@]}" --resume damaged
damage
echo 'rubbish' > damaged/latest
refuses 3 'damaged/latest: one line with the name of a manifest is needed' "$pleat" sample damaged
model=${tiny/,dropout/,seq=16,batch=4,dropout}
refuses 3 "cannot resume saved: the model was '$model'|is '${model/16/32}'" \
    "${train[@]/hidden=16/hidden=32}" --resume saved
refuses 3 'seed was 1 and is 2; --weights saved takes its weights alone' "${train[@]}" --resume saved --seed 2
runs 0 'resuming with other settings: lr_schedule was "cosine", is "linear"; steps was 2, is 3' "${train[@]}" --resume saved \
    --lr-schedule linear --steps 3
printf 'other text\n%.0s' {1..200} > other.txt
refuses 3 "the data were 'text.txt'|now have other contents|--weights saved" "${train[@]}" --resume saved --data other.txt
runs 0 '' "$pleat" train mlp:layers=1,in=4,classes=3,batch=4 --data synthetic --steps 1 --save small
refuses 3 "reads vectors, not text" "$pleat" sample small

# -- failures of a run: 7 ---------------------------------------------------------------------------------
runs 7 'the loss is not finite at step 2|lower --lr' "${train[@]}" --optimizer sgd --lr 1e30 --clip 0
check 'the loss is no number, of no sign' grep -q '^step 2 loss \(nan\|inf\)' out
check 'no way to go on is offered without a checkpoint' test -z "$(grep -- --resume err)"
# A disk that is full, by a limit on the size of files: the last checkpoint stays, and loads.
full=(bash -c 'ulimit -f 40; exec "$@"' full "${train[@]}" --steps 4 --save-every 2 --save)
runs 7 'saving step 2: |cannot write: File too large|95872 bytes wanted|step-00000002.json stays the latest' \
    "${full[@]}" saved --overwrite
grep -q -- '--resume saved goes on from step-00000002.json' err || say_failure 'no way to go on is offered'
check 'no temporary file stays' test -z "$(find saved -name '*.tmp')"
runs 0 '' "${train[@]}" --resume saved
runs 7 'cannot write: File too large|there is no earlier checkpoint in small2' "${full[@]}" small2
if [ -w /dev/full ]; then
    for arguments in 'models' 'ops --json' 'graph mlp --text' 'doctor'; do
        # shellcheck disable=SC2086 # arguments
        runs 7 'cannot write the result to stdout: No space left' \
            bash -c '"$@" > /dev/full' full "$pleat" $arguments
    done
fi
refuses 5 'one device needs|this machine has|smaller batch' "$pleat" train gpt2-xl:batch=1024 \
    --data synthetic --steps 1
runs 0 '' "$pleat" train gpt2-xl:batch=1024 --data synthetic --steps 1 --eval-batches 0 --backend null
finish
