#!/bin/sh
# The well-known small CPU recipe of nanoGPT (karpathy/nanoGPT, README: "I only have a macbook"): 4
# layers, 4 heads, 128 wide, context 64, batch 12, 2,000 steps, no dropout, peak rate 1e-3; published
# validation loss about 1.88 nats per character. Prints the validation curve and the time, on one
# device and on two ranks of this machine.
#   bench/shakespeare.sh TEXT [PLEAT]      TEXT: the file "tiny Shakespeare", 1.1 MB
set -eu
text=$1
pleat=${2:-build/pleat}
[ -r "$text" ] || { echo "no text at '$text'" >&2; exit 3; }
for devices in 1 2; do
    echo "== $devices device(s), one thread each"
    start=$(date +%s)
    "$pleat" train gpt2:layers=4,heads=4,hidden=128,vocab=256,dropout=0 --data "$text" --seq 64 \
        --batch 12 --steps 2000 --lr 1e-3 --lr-min 1e-4 --warmup 100 --beta2 0.99 --decay 0.1 \
        --clip 1 --eval-every 250 --eval-batches 100 --devices $devices --threads 1 2>/dev/null |
        grep validation
    echo "seconds: $(($(date +%s) - start))"
done
