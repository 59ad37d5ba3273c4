# The text of pleat plan: it promises no bound that is none, its names are those of tensors, what it prints
# as the next command runs, and nothing is cut off.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

plan=("$pleat" plan)
number() { sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p" out; } # after a key of the JSON line in the file out
says() { grep -qF -- "$1" out || say_failure "no '$1' on stdout"; }
column() { grep -qE -- "$1" out || say_failure "no line like '$1' on stdout"; }

# -- no bound beside a step that it does not bound ---------------------------------------------------------
# The forecast of each of these is below the search's bound of its own sums, or was.
for case in "gpt2:layers=2,vocab=1000,batch=2 --devices 2" "mlp:layers=4,hidden=4096,batch=512 --cluster 8xk80" \
    "llama3-8b:layers=1,dtype=bf16,seq=512,batch=16 --cluster 2x8xh100" "mlp --devices 1"; do
    read -ra words <<< "$case"
    runs 0 '' "${plan[@]}" "${words[@]}" -o bound.json
    check "$case: no bound in the text" test -z "$(grep -iE '^bound|no plan is below|gap -' out)"
    grep -q '"lower_bound_seconds": 0, ' bound.json || say_failure "$case: a bound in the plan file"
    runs 0 '' "$pleat" show bound.json -o bound.html
    check "$case: no bound on the page" test -z "$(grep -E '^ *"[a-z_]*bound[a-z_]*":|no plan is below' bound.html)"
    runs 0 '' "${plan[@]}" "${words[@]}" --json
    check "$case: the search's gap is not negative" test "$(number gap | cut -c 1)" = 0
    awk -v seconds="$(number objective_seconds)" -v bound="$(number lower_bound_seconds)" \
        'BEGIN { exit !(bound > 0 && bound <= seconds * (1 + 1e-9)) }' || say_failure "$case: the search's bound is above its sum"
done
runs 0 '' "${plan[@]}" mlp --cluster 1x4xv100 --search tofu --json
says '"lower_bound_seconds": null, "gap": null'

# -- a host that is slower than its devices is named ---------------------------------------------------------
launched() { # MICROSECONDS
    printf '%s\n' 'schema: pleat.cluster/1' 'classes:' \
        "  fast: {memory: 80 GB, f32_flops: 67 TFLOP/s, memory_bandwidth: 3 TB/s, kernel_launch: $1 us}" \
        'levels: [{name: in, size: 2, latency: 1 us, bandwidth: 100 GB/s}]' > launched.yaml
    runs 0 '' "${plan[@]}" mlp:batch=64 --cluster launched.yaml --strategy dp
}
launched 1000
column '^ +the host hands kernels over in [0-9.]+ ms, which the devices would do in [0-9.]+ ms$'
launched 0
check "no host is slower" test -z "$(grep 'the host hands' out)"

# -- a step that waits for messages says that pipelines were not looked at -----------------------------------
waits='of the step waits for messages; pipelines'
waiting=(llama3-8b:layers=2,batch=4,seq=64,dtype=bf16 --cluster 4x1xrtx4090)
runs 0 '' "${plan[@]}" "${waiting[@]}"
says "$waits"
for more in '-O 3' '--strategy tp=4'; do
    runs 0 '' "${plan[@]}" "${waiting[@]}" $more
    check "$more: nothing was left out" test -z "$(grep "$waits" out)"
done

# -- rows that tensor cores take apart, and what padding them gives ------------------------------------------
runs 0 '' "${plan[@]}" gpt2:batch=16,dtype=bf16 --cluster 1x1xh100 --strategy dp
column '^note +16-bit products with ragged rows, most of 50257 numbers, take [0-9.]+ ms of it; padded'
column '^ +50264, a multiple of 16 bytes, they would take [0-9.]+ ms$'
for case in gpt2:batch=16,vocab=50264,dtype=bf16 gpt2:batch=16; do
    runs 0 '' "${plan[@]}" "$case" --cluster 1x1xh100 --strategy dp
    check "$case: no ragged rows" test -z "$(grep 'ragged' out)"
done

# -- zeros that fill the tiles of a matrix unit --------------------------------------------------------------
printf '%s\n' 'schema: pleat.cluster/1' 'classes:' \
    '  wide: {memory: 16 GB, f32_flops: 60 TFLOP/s, memory_bandwidth: 450 GB/s, tile_rows: 8, tile_columns: 128}' \
    'levels: [{name: in, size: 2, latency: 1 us, bandwidth: 100 GB/s}]' > tiles.yaml
runs 0 '' "${plan[@]}" biggan:batch=16,dtype=bf16 --cluster tiles.yaml --strategy dp
column '^note +of what 16-bit products compute 1[0-9.]+ % are zeros that fill tiles: they take'
for case in 'biggan:batch=16 --cluster tiles.yaml' 'biggan:batch=16,dtype=bf16 --cluster 1x2xa100'; do
    runs 0 '' "${plan[@]}" $case --strategy dp
    check "$case: no zeros" test -z "$(grep 'zeros' out)"
done

# -- what is printed next runs as it is printed ------------------------------------------------------------
mkdir -p bin 'my plans'
ln -sf "$pleat" bin/pleat
next() { sed -n 's/^next *//p' out; }
run_next() { # TEXT: what the command must print
    next > command
    runs 0 '' env PATH="$PWD/bin:$PATH" sh command
    grep -qE "$1" out err || say_failure "no '$1' after: $(cat command)"
}
runs 0 '' "${plan[@]}" mlp:hidden=64,batch=8 --devices 2 --optimizer sgd -o 'my plans/a b.json'
run_next 'step 100 loss'
runs 0 '' "${plan[@]}" mlp:hidden=64,batch=8 --cluster 4xa100 -o gpu.json
run_next 'gpu.html: 1 plan'
runs 0 '' "${plan[@]}" mlp:hidden=64,batch=8 --devices 2
run_next 'plan.html: 1 plan'

# -- names: a star stands only for numbers that differ -----------------------------------------------------
runs 0 '' "${plan[@]}" mlp --devices 2 --strategy dp
column '^layers\.0\.weight +f32\[256,64\] '
column '^layers\.\*\.bias +x2 +f32\[256\] '
column '^layers\.2\.bias +f32\[10\] '
check 'no star without several' test -z "$(grep -E '^[a-z.]*\*[a-z.*]* +f32' out)"
runs 0 '' "${plan[@]}" resnet18:batch=8 --devices 2 --strategy dp --json
says '"weight": "layer2.0.conv1.weight", "count": 1'
says '"weight": "layer2.1.conv1.weight", "count": 1'

# -- of many messages those that matter --------------------------------------------------------------------
runs 0 '' "${plan[@]}" llama3-8b:layers=2,seq=512,batch=16 --cluster 2x8xh100 --strategy zero=3,tp=8,sp
column '^[0-9]+ smaller +[0-9]+ +[0-9.]+ [KM]?i?B +[0-9.]+ ms  --json has all of them$'
listed=$(sed -n '/^message /,$p' out | grep -cE '^(all|reduce)-')
runs 0 '' "${plan[@]}" llama3-8b:layers=2,seq=512,batch=16 --cluster 2x8xh100 --strategy zero=3,tp=8,sp --json
check 'the text lists fewer messages than --json' test "$listed" -lt "$(grep -o '"kind"' out | wc -l)"

# -- a strategy that does not fit: with the words that are named it does -----------------------------------
small=(gpt2:layers=4,hidden=128,heads=4,vocab=512,seq=128,batch=16,dropout=0 --devices 2 --memory 24MiB)
for strategy in dp zero=3 tp=2; do
    runs 0 '' "${plan[@]}" "${small[@]}" --strategy $strategy
    words=$(tr '\n' ' ' < out | sed -n 's/.* change  *it does not fit, by [0-9.]* [KMG]iB; --strategy  *\(.*\) does: .*/\1/p')
    check "$strategy: words are named ($words)" test "${words#"$strategy"[, ]}" != "$words"
    # shellcheck disable=SC2086
    runs 0 '' "${plan[@]}" "${small[@]}" --strategy $words --json
    peak=$(grep -o '"peak_bytes": [0-9]*' out | head -n 1 | grep -o "[0-9]*$")
    check "$words fits: $peak bytes" test "$peak" -le $((24 << 20))
done
# Without blocks to recompute, states on the host still help.
table=(dlrm:rows=200000 --cluster 4xa10 --optimizer adagrad)
runs 0 '' "${plan[@]}" "${table[@]}" --memory 100MiB --strategy embrace
tr '\n' ' ' < out > line
check 'tables on the host are named' grep -qE -e '--strategy +embrace,offload=[a-z,=]* +does' line
runs 0 '' "${plan[@]}" "${table[@]}" --memory 40MiB
check 'and found' grep -q '^embrace,offload=' out
runs 0 '' "${plan[@]}" resnet18:batch=64 --devices 2 --strategy dp --memory 700MiB
tr '\n' ' ' < out > line
check 'running statistics stay those of whole batches' grep -qE 'does not fit, by .*--strategy +dp( +--evict|,recompute=full)' line
runs 0 '' "${plan[@]}" mlp --devices 2 --strategy dp
check 'what fits needs no change' test -z "$(grep '^change' out)"

# -- the whole error: what would fit stands at its end -----------------------------------------------------
refuses 5 'nothing fits in 6.0 MiB of a device|; it fits on 4 such devices' \
    "${plan[@]}" mlp:layers=2,hidden=1024,in=1024,batch=64 --cluster 2xv100 --memory 6MiB

finish
