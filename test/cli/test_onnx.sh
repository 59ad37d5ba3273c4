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
for name in gpt2 llama bert vit block lstm unet listed bags bags_ts; do
    keys=
    case $name in
    llama | bert) keys=,guess=yes ;; # matrices that the exporter made, without their modules
    unet) keys=,guess=yes,loss=mse ;;
    esac
    train $name "$keys"
    check "$name: losses and gradients of PyTorch" same_steps out "$data/$name.json"
    for split in '2 zero=3' '2 auto'; do
        train $name "$keys" --devices "${split% *}" --strategy "${split#* }"
        check "$name on $split" same_steps out "$data/$name.json"
    done
done

# -- scores, mask, softmax and product are one node -----------------------------------------------
for name in gpt2.onnx llama.onnx:guess=yes bert.onnx:guess=yes vit.onnx; do
    runs 0 '' "$pleat" graph "$data/$name" --text
    check "$name: attention" grep -q '^forward .* = attention ' out
    check "$name: no softmax" test "$(grep -c ' = softmax ' out)" = 0
done

# -- a loop over bags is one lookup and one node that reduces --------------------------------------
for name in bags bags_ts; do
    runs 0 '' "$pleat" graph "$data/$name.onnx:batch=4" --text
    check "$name: a lookup a table" test "$(grep -c '^forward .* = embedding ' out)" = 3
    check "$name: bags by offsets" grep -q '^forward .* = segment_sum "; mean=1" .* offsets ' out
    check "$name: bags of a size" grep -q '^forward .* = reduce_max "ABC->AC" ' out
    runs 0 '' "$pleat" verify "$data/$name.onnx:batch=4" --devices 3 --strategy embrace --optimizer adagrad
done

# -- what is stored has the names of the file ----------------------------------------------------
train vit '' --save saved
check 'a weight is stored by its name' grep -q '"model.classifier.weight"' saved/*.safetensors
runs 0 '' "$pleat" plan "$data/llama.onnx" --guess --batch 8 --cluster 8xh100

# -- a model's file is found from another folder --------------------------------------------------
rm -rf saved deep
mkdir deep
cp "$data/vit.onnx" model.onnx
here=(--data "$data/vit.safetensors" --threads 1 --eval-batches 0)
runs 0 '' "$pleat" train model.onnx --batch 4 "${here[@]}" --steps 2 --save saved
check 'the manifest has the whole path' grep -q "\"model\": \"$PWD/model.onnx" saved/step-00000002.json
cd deep || exit 1
runs 0 '' "$pleat" train ../model.onnx --batch 4 "${here[@]}" --steps 3 --resume ../saved
refuses 3 'reads tensors, not text' "$pleat" sample ../saved # it is found
cd .. || exit 1
refuses 4 "the model reads 'image' too, f32[4,4]|a text file gives rows of tokens alone" \
    "$pleat" train "$(dirname "$0")/data/image_and_text.onnx" --batch 4 --seq 8 --data "$0"

# -- refusals name the node ------------------------------------------------------------------------
refuses 2 'batch' "$pleat" graph "$data/vit.onnx:batch=x"
sed 's/LayerNormalization/LayerNormalizatiom/g' "$data/vit.onnx" > unknown.onnx
refuses 4 'LayerNormalizatiom x3' "$pleat" graph unknown.onnx
# A length that the exporter took for a constant.
refuses 3 "node '/Reshape' (Reshape)|12 may be what 'seq' was at export" \
    "$pleat" graph "$data/baked.onnx" --batch 2 --seq 20
runs 0 '' "$pleat" graph "$data/baked.onnx" --batch 2 --seq 12
head -c 9000 "$data/vit.onnx" > short.onnx
refuses 3 'cut short' "$pleat" graph short.onnx

finish
