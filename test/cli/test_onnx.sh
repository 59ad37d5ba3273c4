# Exports of PyTorch, trained: losses and gradient norms are those of PyTorch, on any layout.
# bench/torch/onnx_fixtures.py wrote the files.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
data=$(cd "$(dirname "$0")/../import/data" && pwd)
rm -rf saved ./*.log ./*.onnx

# The numbers of a --json log that PyTorch's steps have too.
steps_of() {
    sed -n 's/^{"step": \([0-9]*\), "loss": \([^,}]*\),.*"grad_norm": \([^,}]*\).*/\1 \2 \3/p' "$1"
}

same_steps() {
    paste <(steps_of "$1") <(steps_of "$2") | awk '
        function far(x, y, limit) { return x - y > limit * y || y - x > limit * y }
        NF != 6 || $1 != $4 || far($2, $5, 1e-5) || far($3, $6, 1e-4) { print "    " $0; bad = 1 }
        END { exit bad || NR != 5 }'
}

# train NAME KEYS OPTIONS...
train() {
    local name=$1 keys=$2
    shift 2
    runs 0 '' "$pleat" train "$data/$name.onnx:batch=4$keys" --data "$data/$name.safetensors" \
        --data-order file --train-share 0.5 --steps 5 --eval-batches 0 --optimizer sgd --momentum 0 \
        --decay 0 --clip 1e9 --lr 0.05 --threads 1 --json "$@"
}

# -- the steps are PyTorch's ----------------------------------------------------------------------
for name in gpt2 llama bert vit block lstm unet; do
    keys=
    [ $name != unet ] || keys=,loss=mse
    train $name "$keys"
    check "$name: losses and gradients of PyTorch" same_steps out "$data/$name.json"
    for split in '2 zero=3' '2 auto'; do
        train $name "$keys" --devices "${split% *}" --strategy "${split#* }"
        check "$name on $split" same_steps out "$data/$name.json"
    done
done

# -- what is stored has the names of the file ----------------------------------------------------
train vit '' --save saved
check 'a weight is stored by its name' grep -q '"model.classifier.weight"' saved/*.safetensors
runs 0 '' "$pleat" plan "$data/llama.onnx" --batch 8 --cluster 8xh100

# -- refusals name the node ------------------------------------------------------------------------
refuses 3 'batch' "$pleat" graph "$data/vit.onnx:batch=x"
sed 's/LayerNormalization/LayerNormalizatiom/g' "$data/vit.onnx" > unknown.onnx
refuses 4 'LayerNormalizatiom x3' "$pleat" graph unknown.onnx
head -c 9000 "$data/vit.onnx" > short.onnx
refuses 3 'cut short' "$pleat" graph short.onnx

finish
