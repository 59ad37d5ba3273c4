#!/bin/bash
# Are split programs the whole ones? Random models of all families, sizes, types, strategies, optimizers and
# numbers of devices under pleat verify: bench/verify.sh [CASES [SEED]], by default 200 of seed 1; the same
# seed, the same cases. A line of CSV for each goes to stdout:
#   exit,verdict,difference,difference_f64,noise_ratio,blind,tensors,command
# verdict: equal (within the tolerance), rounding (equal, but for the rounding that was measured),
# refused (exit 2, 3 or 4: the strategy does not fit), mismatch (6), failed (any other). noise_ratio: the
# largest difference by noise that stayed. The summary goes to stderr. Exit status 6 when a case is a
# mismatch or failed. PLEAT is the program (build/pleat), LIMIT the seconds that a case may take (300),
# ONLY a pattern of models.
set -u
cd "$(dirname "$0")/.." || exit 1
pleat=${PLEAT:-build/pleat}
cases=${1:-200}
RANDOM=$((${2:-1} * 7919 % 32768))
out=$(mktemp)
trap 'rm -f "$out" "$out.err"' EXIT

one() { # WORD ...: one of them, in $it; not in a subshell, where random numbers would repeat
    local words=("$@")
    it=${words[RANDOM % ${#words[@]}]}
}

# KEY CHOICE ...: appends ,KEY=CHOICE to the spec
key() {
    local name=$1
    shift
    one "$@"
    spec+="${spec:+,}$name=$it"
}

# Each family's sizes: small, odd ones too.
give_model() {
    local family
    one mlp gpt2 llama bert-base t5 lstm moe resnet50 alexnet vgg16 vit_b_16 mobilenet_v2 mnasnet0_5 \
        efficientnet_b0 mobilenet_v2 mnasnet0_5 efficientnet_b0 resnet50
    family=$it
    spec=
    case $family in
        mlp) key layers 1 2 3; key in 5 12 16; key hidden 7 16 24; key classes 3 4 10 ;;
        gpt2) key layers 1 2; key heads 1 2 4; key hidden 8 16 24; key vocab 32 40; key seq 1 5 8
            key experts 0 0 4; key act 0 1 2; key dropout 0 0.1 ;;
        llama) key layers 1 2; key heads 2 4; key kv 1 2; key hidden 16 32; key ffn 7 12 24; key vocab 32 40
            key seq 4 5 8; key bias 0 1 2; key qknorm 0 1; key tied 0 1; key experts 0 0 2 ;;
        bert-base) key layers 1 2; key heads 1 2 4; key hidden 8 16; key ffn 7 16; key vocab 32 40; key seq 4 8
            key classes 0 5; key act 0 1 2; key dropout 0 0.1; spec+=,positions=16 ;;
        t5) key layers 1 2; key decoder 0 1; key heads 2 3; key head 4 5 8; key hidden 4 8 12; key ffn 1 7 12
            key vocab 32 64; key seq 1 4 8; key gated 0 1; key tied 0 1; key dropout 0 0.1
            spec+=,buckets=8,limit=16 ;;
        lstm) key layers 1 2; key hidden 8 12; key embed 0 6; key vocab 32 40; key seq 2 3 ;;
        moe) key layers 1 2; key in 8 12; key hidden 8 12; key experts 2 4; key k 1 2; key tokens 4 8
            key classes 3 4 ;;
        resnet50) key depth 18 34 50; key stages 1 2; key width 4 5 8; key size 16 17 32; key classes 2 7
            spec+=,blocks=1 ;;
        alexnet) key width 2 4; key size 63 67; key hidden 8 16; key classes 3 10; key dropout 0 0.5 ;;
        vgg16) key depth 11 13; key width 1 2 4; key size 32 45; key hidden 8 16; key classes 2 5
            key dropout 0 0.5 ;;
        vit_b_16) key layers 1 2; key heads 2 3; key hidden 12 24; key ffn 7 24; key patch 4; key size 8 12
            key classes 3 10; key dropout 0 0.1 ;;
        mobilenet_v2 | mnasnet0_5) key width 0.25 0.5; key divisor 1 2 3 8; key stages 2 3
            key last 5 8 17; key size 15 32 33; key classes 2 3 10; key dropout 0 0.2; spec+=,blocks=1 ;;
        efficientnet_b0) key width 0.1 0.2 0.5; key divisor 1 3 4; key stages 2 3 7; key last 8 17
            key size 12 15 33; key classes 2 10; key dropout 0 0.2; key skip 0 0.2; spec+=,blocks=1 ;;
    esac
    key batch 4 5 6 8 12
    key dtype f32 f32 bf16
    spec=$family:$spec
}

# Strategies and their smallest numbers of devices; up to 12 of them run, a multiple of that.
give_strategy() {
    one dp:1 dp:2 zero=1:2 zero=2:2 zero=3:2 tp=2:2 tp=3:3 tp=4:4 tp=2,sp:2 tp=2,zero=1:4 tp=2,zero=3:4 \
        tp=2d:2x2:4 tp=2d:1x3:3 tp=3d:2x2x2:8 tp=2.5d:2x2x2:8 spatial=2:2 spatial=2,dp:4 spatial=3:3 \
        spatial=4:4 spatial=2,tp=2:4 spatial=2,hsdp=2:8 hsdp=2:4 hsdp=3:6 grid:2x2x1:4 grid:1x4x2:8 \
        grid:1x1x3:3 grid:1x1x8:8 grid:5x1x1:5 grid:1x6x1:6 grid:2x1x2:4 grid:2x2x2:8 grid:3x2x2:12 ep=2:2 \
        tp=2,reduce=f32:2 dp,reduce=f32:3 auto:4 auto:8
    strategy=${it%:*}
    devices=${it##*:}
    one 1 1 2 3
    [ $((devices * it)) -gt 12 ] || devices=$((devices * it))
    case $strategy in grid:*) devices=$(($(echo "${strategy#grid:}" | tr x '*'))) ;; esac
}

give_options() {
    options=(--steps 2 --threads 1)
    one adamw adamw adam sgd
    [ "$it" = adamw ] || options+=(--optimizer "$it")
    one 1 1 1 1 2 3
    [ "$it" = 1 ] || options+=(--micro "$it")
    one 16MiB 16MiB 1KiB 64 1
    [ "$it" = 16MiB ] || options+=(--bucket "$it")
    one 0 0 0 1 64
    [ "$it" = 0 ] || options+=(--gather-steps "$it")
    one auto auto lescea pleat
    [ "$it" = auto ] || options+=(--order "$it")
    one auto auto auto native ref
    [ "$it" = auto ] || options+=(--backend "$it")
    one 1 1 0 100
    [ "$it" = 1 ] || options+=(--clip "$it")
    one 1 7 12345 99
    options+=(--seed "$it")
}

# FIELD: a number of the JSON object
number() {
    grep -oE "\"$1\": [0-9.e+-]+" "$out" | head -n 1 | sed 's/.*: //'
}

count_equal=0 count_rounding=0 count_refused=0 count_mismatch=0 count_failed=0
echo exit,verdict,difference,difference_f64,noise_ratio,blind,tensors,command
for ((k = 0; k < cases; k++)); do
    give_model
    give_strategy
    give_options
    case $spec in *${ONLY:-}*) ;; *) continue ;; esac
    command=(verify "$spec" --strategy "$strategy" --devices "$devices" "${options[@]}")
    timeout "${LIMIT:-300}" "$pleat" "${command[@]}" --json --timeout 100 > "$out" 2> "$out.err"
    code=$?
    case $code in
        0) verdict=equal; grep -q '"rounding": {' "$out" && verdict=rounding ;;
        2 | 3 | 4) verdict=refused ;;
        6) verdict=mismatch ;;
        *) verdict=failed ;;
    esac
    declare "count_$verdict=$(($(eval "echo \$count_$verdict") + 1))"
    ratio=
    [ $verdict = rounding ] || [ $verdict = mismatch ] && ratio=$(number ratio)
    echo "$code,$verdict,$(number difference),$(number difference_f64),$ratio,$(number tensors_blind),$(number tensors),${command[*]}"
    if [ $verdict = mismatch ] || [ $verdict = failed ]; then
        sed 's/^/# /' "$out.err"
    fi
done
echo "cases $((count_equal + count_rounding + count_refused + count_mismatch + count_failed)):" \
    "equal $count_equal, equal by rounding $count_rounding, refused $count_refused," \
    "mismatch $count_mismatch, failed $count_failed" >&2
[ $((count_mismatch + count_failed)) = 0 ] || exit 6
