# Weights of published names: experts that files have one by one, what is missing, what a checkpoint is called.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf saved again split ./*.safetensors
mixtral=llama:layers=1,hidden=16,heads=2,kv=1,ffn=8,vocab=256,experts=4,seq=8,batch=2
train=("$pleat" train "$mixtral" --data synthetic --threads 1 --json --eval-batches 0)

# -- saved under the published names, and read back: resumed, as weights, on any devices -------------------
runs 0 '' "${train[@]}" --steps 2 --save saved
has() { head -c 20000 saved/step-00000002.safetensors | grep -aqF "\"$1\""; }
for name in 0.w1 1.w2 3.w3; do
    check "a tensor of expert $name" has "model.layers.0.block_sparse_moe.experts.$name.weight"
done
check 'no stacked tensor' test "$(head -c 20000 saved/step-00000002.safetensors |
    grep -acF '"model.layers.0.block_sparse_moe.experts.w1.weight"')" = 0
runs 0 '' "${train[@]}" --steps 4 --resume saved
mv out one.log
runs 0 '' "${train[@]}" --steps 4 --resume saved --devices 4 --strategy ep=2
check 'resumed with split experts' same_losses one.log out
runs 0 '13 of 13 states loaded' "${train[@]}" --steps 0 --weights saved --save again --seed 7
runs 0 '13 of 13 states loaded' "${train[@]}" --steps 0 --weights saved --save split --seed 7 --devices 4 --strategy ep=2,zero=3
check 'the same weights from four devices' cmp again/step-00000000.safetensors split/step-00000000.safetensors

# -- what is not there is an error --------------------------------------------------------------------------
deep=("$pleat" train "${mixtral/layers=1/layers=2}" --data synthetic --threads 1 --json --steps 1 --eval-batches 0)
refuses 3 "saved: 13 of 23 states loaded; not found: |and 7 more|--weights-partial" "${deep[@]}" --weights saved
runs 0 'saved: 13 of 23 states loaded; start from their initial values: ' "${deep[@]}" --weights saved --weights-partial
refuses 2 '--weights-partial is of --weights' "${deep[@]}" --weights-partial
printf x | tensors rows.safetensors '{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
refuses 3 'rows.safetensors: 0 of 23 states loaded; not found' "${deep[@]}" --weights-partial --weights rows.safetensors

finish
