#!/bin/sh
# Two networks on devices of their own (--strategy apart=2) beside one after the other, and how far
# BigGAN scales: bench/apart.sh > bench/apart.csv. Forecasts are the same on any machine; steps by
# the clock need two quiet cores, a thread each.
set -eu
pleat=${PLEAT:-build/release/pleat}
steps=${STEPS:-30}

forecast() { # model cluster strategy devices
    ms=$("$pleat" plan "$1" --cluster "$2" --strategy "$3" --json |
        grep -o '"predicted": {"step_seconds": [0-9.e-]*' | awk '{ printf "%.2f", 1e3 * $3; exit }')
    echo "forecast,$1,$2,$3,$4,$ms"
}

# Milliseconds of a step after the first, of the best of three.
clock() { # model strategy devices
    for _ in 1 2 3; do
        "$pleat" train "$1" --data synthetic --steps "$steps" --eval-batches 0 --threads 1 --json \
            --timings --devices "$3" --strategy "$2" 2>/dev/null
    done | awk -v model="$1" -v strategy="$2" -v n="$3" '
        /"step": 1,/ { if (sum && (!best || sum / k < best)) best = sum / k; sum = k = 0; next }
        match($0, /"seconds": [0-9.e-]*/) && /"lr"/ {
            sum += substr($0, RSTART + 11, RLENGTH - 11); k++ }
        END { if (!best || sum / k < best) best = sum / k
            printf "clock,%s,here,%s,%d,%.2f\n", model, strategy, n, 1e3 * best }'
}

echo "kind,model,cluster,strategy,devices,step_ms"
for dtype in f32 bf16; do
    for n in 1 8 64 512 1024; do
        [ $n = 1 ] && c=1xa100 || c=$((n / 8))x8xa100
        [ $n = 8 ] && c=8xa100
        for s in dp auto; do forecast "biggan:batch=$((64 * n)),buffer=1,dtype=$dtype" $c $s $n; done
    done
done
for c in 1xa100 2xa100; do forecast dcgan:buffer=1 $c dp ${c%xa100}; done
forecast dcgan:buffer=1 2xa100 apart=2 2
for m in dcgan:size=32,width=32,z=64,batch=64,buffer=1 sngan:width=16,judge=8,batch=32,buffer=1; do
    clock $m dp 1
    clock $m dp 2
    clock $m apart=2 2
done
