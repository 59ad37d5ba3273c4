# Which tensors of an ONNX file train: what the file says, --train and --freeze, else a guess that
# says so. bench/torch/onnx_fixtures.py wrote the files.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
data=$(cd "$(dirname "$0")/../import/data" && pwd)
rm -rf saved ./*.txt

states() { "$pleat" graph "$@" --batch 4 --forward --text 2>/dev/null | sed -n 's/^state //p'; }
trained() { states "$@" | sed -n 's/ .* weight .*//p' | sort | tr '\n' ' '; }
kept() { states "$@" | grep -v ' weight ' | sed 's/ .*//' | sort | tr '\n' ' '; }
is() { [ "$1" = "$2" ] || { echo "    '$1'"; return 1; }; }

lacks() { ! grep -q "$1" out; }
# shows PATTERN COMMAND...: on stdout
shows() {
    local pattern=$1
    shift
    runs 0 '' "$@"
    check "'$pattern' in: $*" grep -q -- "$pattern" out
}

# -- a list in the file: nothing is guessed --------------------------------------------------------
all='attn_mask bn.bias bn.weight embed.weight gate head.bias norm.bias norm.weight norm2.bias '
all+='norm2.weight scale_ w '
check 'parameters train, under PyTorch'"'"'s names' is "$(trained "$data/listed.onnx")" "$all"
check 'buffers, statistics and frozen ones do not' \
    is "$(kept "$data/listed.onnx")" 'bn.running_mean bn.running_var pe w_1 '
shows 'parameters   489' "$pleat" graph "$data/listed.onnx" --batch 4
check 'no guess' lacks guess
check 'the data file is described' grep -q 'tokens  *i64\[12\]' out
check 'and its labels' grep -q 'targets  *i32\[12\]' out

runs 0 '' "$pleat" train "$data/listed.onnx:batch=4" --data "$data/listed.safetensors" \
    --data-order file --train-share 0.5 --steps 2 --eval-batches 0 --threads 1 --save saved
check 'statistics are saved under their names' grep -q '"bn.running_mean"' saved/*.safetensors

# -- globs ----------------------------------------------------------------------------------------
check '--train: these alone' is "$(trained "$data/listed.onnx" --train 'norm*,w')" \
    'norm.bias norm.weight norm2.bias norm2.weight w '
check '--freeze: not these' is "$(trained "$data/listed.onnx" --freeze 'norm*,bn.*,head.bias')" \
    'attn_mask embed.weight gate scale_ w '
printf 'gate\nnorm.*\n' > names.txt
check 'a file of names' is "$(trained "$data/listed.onnx" --train @names.txt)" \
    'gate norm.bias norm.weight '
refuses 3 "'nrom.weight' matches no tensor of floats; the nearest is 'norm.weight'" \
    "$pleat" graph "$data/listed.onnx" --freeze nrom.weight
refuses 3 'nowhere.txt' "$pleat" graph "$data/listed.onnx" --train @nowhere.txt
shows 'norm' "$pleat" plan "$data/listed.onnx" --batch 4 --devices 2 --train 'norm*'

# -- no list: the signature of the exporter --------------------------------------------------------
refuses 3 'sigmoid of gate|pleat_export.py|--train|--freeze|--guess' \
    "$pleat" graph "$data/merged.onnx"
shows 'which tensors train is a guess' "$pleat" graph "$data/merged.onnx" --guess
check 'what was merged is named' grep -q 'were equal.*norm2.weight' out
runs 0 '' "$pleat" graph "$data/merged.onnx" --train 'norm.*,head.weight'
check 'no guess with --train' lacks guess
check 'folded weights have their names' is \
    "$(trained "$data/merged.onnx" --train 'head.weight')" 'head.weight '

# -- no list: names of nodes ------------------------------------------------------------------------
check 'names out of the scopes of nodes; equal scales come apart' is \
    "$(trained "$data/merged_ts.onnx")" \
    'embed.weight gate head.weight norm.bias norm.weight norm2.bias norm2.weight '
shows 'may be buffers: gate' "$pleat" graph "$data/merged_ts.onnx"
check 'and what lies transposed' grep -q 'transposed, \[in,out\]: head.weight' out
check 'no dropout is said' grep -q 'no dropout' out
shows 'fixed statistics: /bn/BatchNormalization' "$pleat" graph "$data/block.onnx"

finish
