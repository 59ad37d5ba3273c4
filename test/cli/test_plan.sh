# What pleat plan tells: placements, bytes and messages, checked against what is known by arithmetic.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

plan=("$pleat" plan)
small=gpt2:layers=2,hidden=64,heads=4,vocab=256,seq=32,batch=8,dropout=0

# The number after a key of the JSON line in the file out.
number() { sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p" out; }
is() { # NAME EXPRESSION: the number is that
    check "$1 is $(number "$1"), not $(($2))" test "$(number "$1")" = "$(($2))"
}
says() { grep -qF -- "$1" out || say_failure "no '$1' on stdout"; }
column() { grep -qE -- "$1" out || say_failure "no line like '$1' on stdout"; }

# -- a known model: 64x256 + 256, 256x256 + 256, 10x256 + 10 weights --------------------------------------
params=$((64 * 256 + 256 + 256 * 256 + 256 + 10 * 256 + 10))
runs 0 '' "${plan[@]}" mlp --strategy dp --devices 1 --json
is params $params
is weights "4 * params"
is optimizer "8 * params"
is comm_bytes 0
says '"schema": "pleat.report/1"'
says '"messages": []'
runs 0 '' "${plan[@]}" mlp --strategy dp --devices 1 --json --optimizer sgd
is optimizer "4 * params"

# Data parallel on 4: every gradient, and the loss, is reduced: 3/4 of it is received twice.
runs 0 '' "${plan[@]}" mlp --strategy dp --cluster local:4 --json
is weights "4 * params"
is comm_bytes "4 * (2 * 3 * (params + 1) / 4)" # whole elements
says '"mesh": [{"axis": "data", "size": 4}]'
says '"kind": "all-reduce", "axes": ["data"]'
before=$(number comm_bytes)
runs 0 '' "${plan[@]}" mlp --strategy dp --devices 4 --json
check '--devices 4 is --cluster local:4' test "$(number comm_bytes)" = "$before"

# What auto takes of the layouts takes as much memory as alone, to the byte.
runs 0 '' "${plan[@]}" moe --cluster 8xv100 --json
says '"strategy": {"name": "ep=4"'
before=$(sed -n 's/.*"memory": {"peak_bytes": \([0-9]*\).*/\1/p' out)
runs 0 '' "${plan[@]}" moe --cluster 8xv100 --strategy ep=4 --json
says "\"memory\": {\"peak_bytes\": $before,"

# ZeRO: states in 4 parts.
runs 0 '' "${plan[@]}" mlp:classes=12 --strategy zero=1 --devices 4 --json
params=$((64 * 256 + 256 + 256 * 256 + 256 + 12 * 256 + 12))
is weights "4 * params"
is optimizer "8 * params / 4"
runs 0 '' "${plan[@]}" mlp:classes=12 --strategy zero=3 --devices 4 --json
is weights "4 * params / 4"
is optimizer "8 * params / 4"
says '"kind": "all-gather"'

# -- for people -------------------------------------------------------------------------------------------
runs 0 '' "${plan[@]}" "$small" --strategy dp=2,tp=2 --cluster local:4
check 'nothing on stderr' test ! -s err
column '^dp=2,tp=2 on 4 devices of local:4: data=2 tensor=2$'
column '^weight +shape +stored +used +one device$'
column '^h\.\*\.attn\.c_attn\.weight +x2 +f32\[64,192\] '
column '^h\.\*\.ln_1\.bias +x2 +f32\[64\] +whole +whole '
column '^memory +[0-9.]+ [KMG]?i?B of .*\[#+\.*\], the device that holds most$'
column '^ +weights [0-9.]+ .*, optimizer .*, gradients .*, activations '
column '^message +over +times +received +predicted +tensor$'
column '^all-reduce +tensor +'
column '^one step +[0-9]+ +[0-9.]+ [KM]?i?B +[0-9.]+ ms$'
column '^all +x28 +[0-9.]+ KiB$'
column '^\[a;b\]: dimension 0 is split over axis a of the mesh, dimension 1 over b; '
check 'no line is wider than 130 columns' test -z "$(awk '!/^next/ && length > 130' out)"
runs 0 '' "${plan[@]}" mlp --strategy dp --devices 1
says 'no messages'

runs 0 '' "${plan[@]}" "$small" --strategy tp=2 --devices 2 --full
column '^plan tp=2$'
column '^mesh tensor=2$'
column '^store h\.1\.mlp\.c_fc\.weight '
column '^node h\.0\.mlp\.fc '

# Large: memory is counted, never touched.
runs 0 '' "${plan[@]}" gpt2-xl --strategy tp=8,sp,zero=1 --cluster local:64 --batch 64 --json
is params 1557611200
runs 0 '' "${plan[@]}" gpt2-xl --strategy zero=3 --cluster local:64 --batch 64
column '^h\.\*\.mlp\.c_fc\.weight +x48 '

# -- the search -------------------------------------------------------------------------------------------
runs 0 '' "${plan[@]}" "$small" --cluster 1x4xv100 --problem problem.txt
check 'the problem is written' test "$(head -c 6 problem.txt)" = 'chain '
check 'to its last list' grep -q '^every ' problem.txt
column '^[a-z0-9=,]+ on 4 devices of 1x4xv100: '
column '^step +[0-9.]+ ms predicted: [0-9.e+]+ tokens/s, [0-9.]+ % of the devices. peak \(MFU\)$'
column '^search +[0-9]+ ms among 1e[0-9]+ plans on 2 meshes: the least in its cost model \(gap 0.00 %\)'
column '^instead +step +memory$'
for layout in dp zero=1 zero=2 zero=3 tp=4 zero=3,tp=2,sp; do
    grep -qE "^$layout +[0-9.]+ ms +" out || grep -q "^$layout on 4 devices" out || say_failure "nothing is said of $layout"
done
runs 0 '' "${plan[@]}" "$small" --cluster 1x4xv100 --json
for key in schema model cluster mesh search predicted memory strategy runners_up \
    lower_bound_seconds gap mesh_searched step_seconds compute_seconds exposed_comm_seconds peak_bytes limit_bytes; do
    says "\"$key\": "
done
runs 0 '' "${plan[@]}" "$small" --cluster 1x4xv100 -O1 --json
says '"method": "tied"'
for method in tapas soybean tofu; do
    runs 0 '' "${plan[@]}" mlp --cluster 1x4xv100 --search $method --json
    says "\"method\": \"$method\""
done
refuses 2 'tofu+order' "${plan[@]}" mlp --cluster 1x4xv100 --search magic

# A plan as a file: the same bytes each time; it trains, is verified and shown.
runs 0 '' "${plan[@]}" "$small" --devices 4 -o one.json
runs 0 '' "${plan[@]}" "$small" --devices 4 -o two.json
check 'plan files are the same each time' cmp -s one.json two.json
runs 0 '' "$pleat" train "$small" --plan one.json --data synthetic --steps 3 --threads 1
check 'a plan brings its number of devices' grep -q ' on 4 devices' err
grep -q 'predicted:' err || say_failure 'train --plan predicts no time'
runs 0 '' "$pleat" verify "$small" --strategy plan=one.json --devices 4
refuses 3 'one.json is a plan for 4 devices, and here are 2: give --devices 4' \
    "$pleat" train "$small" --plan one.json --devices 2 --data synthetic
refuses 3 'for another graph' "$pleat" train mlp --plan one.json --devices 4 --data synthetic
runs 0 '' "${plan[@]}" mlp --devices 2 --clip 0 -o unclipped.json
check 'what to do next says so' grep -q ' --plan unclipped.json --devices 2 --clip 0 ' out
runs 0 '' "$pleat" train mlp --clip 0 --plan unclipped.json --data synthetic --steps 1 --threads 1
refuses 3 "Build 'mlp' with adamw, --clip 0, else as usual, in 1 micro-batch" \
    "$pleat" train mlp --plan unclipped.json --data synthetic
runs 0 '' "${plan[@]}" dlrm --devices 2 --optimizer sgd --momentum 0 --decay 0 -o plain.json
check 'what to do next says so' grep -q ' --plan plain.json --devices 2 --optimizer sgd --momentum 0 --decay 0 ' out
runs 0 '' "$pleat" train dlrm --optimizer sgd --momentum 0 --decay 0 --plan plain.json --devices 2 --data synthetic --steps 1 --threads 1
refuses 3 "--clip above 0, --momentum 0, --decay 0, else as usual, in 1 micro-batch" \
    "$pleat" train dlrm --optimizer sgd --plan plain.json --devices 2 --data synthetic
runs 0 '' "$pleat" show plain.json -o page.html
runs 0 '' "${plan[@]}" dlrm --devices 2 --optimizer adagrad --decay 0.2 -o decayed.json
check 'what to do next says so' grep -q -- ' --optimizer adagrad --decay 0.1 ' out
runs 0 '' "$pleat" show unclipped.json -o page.html
runs 0 '' "$pleat" show one.json two.json -o page.html
check 'the page is whole' grep -q '</html>' page.html
check 'the page has both plans' test "$(grep -cE '^ *"name":"(one|two)\.json",$' page.html)" = 2

# -- mistakes ---------------------------------------------------------------------------------------------
refuses 2 'MODEL is missing' "${plan[@]}"
refuses 2 'give --cluster NAME, e.g. 2x8xv100, or --devices N' "${plan[@]}" mlp --strategy dp
refuses 2 'local:x' "${plan[@]}" mlp --strategy dp --cluster local:x
refuses 2 'local:0' "${plan[@]}" mlp --strategy dp --cluster local:0
refuses 2 'local:2 has 2 devices, --devices says 4' "${plan[@]}" mlp --strategy dp --cluster local:2 --devices 4
refuses 2 'no-such' "${plan[@]}" mlp --strategy dp --cluster no-such
refuses 2 'auto stands alone' "${plan[@]}" mlp --strategy auto,dp --devices 2
refuses 2 'give --full or --json, not both' "${plan[@]}" mlp --strategy dp --devices 2 --full --json
refuses 2 "unknown optimizer 'foo'" "${plan[@]}" mlp --strategy dp --devices 2 --optimizer foo
refuses 2 "strategy: 'magic' is not one of its words" "${plan[@]}" mlp --strategy magic --devices 2
refuses 5 'nothing fits' "${plan[@]}" mlp --cluster 1x4xv100 --memory 1KiB
refuses 2 "unknown model 'gpt3'" "${plan[@]}" gpt3 --strategy dp --devices 2
refuses 2 '4 devices cannot be divided by tp=3' "${plan[@]}" mlp --strategy tp=3 --devices 4
finish
