# A config.json as a model: what it leaves open is said, by every command that takes it; names that are no path.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf small vit-large ./*.txt
mkdir small vit-large
make_text text.txt
cat > small/config.json << 'EOF'
{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_act": "silu", "hidden_size": 16,
 "intermediate_size": 20, "max_position_embeddings": 4096, "max_window_layers": 1, "num_attention_heads": 2,
 "num_hidden_layers": 1, "num_key_value_heads": 1, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
 "sliding_window": 4096, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "use_cache": true,
 "use_mrope": false, "use_sliding_window": false, "vocab_size": 256, "some_switch": false}
EOF
cp small/config.json vit-large

seq='note: small/config.json: seq=2048 is taken, where it is made for 4096 positions (key seq)'
type='dtype=f32 is taken, where it has bfloat16 (key dtype)'
off='note: small/config.json: not known, but off, so left aside: some_switch=false'
runs 0 "$seq; $type|$off" "$pleat" graph small
runs 0 "$seq" "$pleat" graph small:dtype=f32 --json
runs 0 "note: small/config.json: $type|$off" "$pleat" plan small --seq 16 --devices 2
runs 0 "$type" "$pleat" memory small --seq 16
runs 0 "$type|$off" "$pleat" train small --data text.txt --seq 16 --batch 2 --steps 1 --threads 1 --eval-batches 0
"$pleat" graph small:dtype=bf16,seq=16 > out 2> err
check 'nothing is left open' test "$(grep -c note: err)" = 1
check 'a note stands once' test "$(grep -c some_switch err)" = 1

runs 0 "note: 'vit-large' is the built-in model; the folder of that name is './vit-large'" "$pleat" graph vit-large
runs 0 'note: ./vit-large/config.json' "$pleat" graph ./vit-large
refuses 3 'hf download meta-llama/Llama-3.1-8B config.json|give DIR/config.json' "$pleat" graph meta-llama/Llama-3.1-8B
runs 0 '' "$pleat" graph llama3.2-1b --forward
check 'its published size' grep -q 'parameters *1235814400' out
finish
