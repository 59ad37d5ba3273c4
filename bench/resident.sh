#!/bin/sh
# The peak of a training process's resident memory beside what lives in its work block, in the model's order of steps and
# in pleat's: bench/resident.sh > bench/resident.csv. PLEAT is the program (build/pleat).
set -eu
cd "$(dirname "$0")/.."
pleat=${PLEAT:-build/pleat}
how="--optimizer adam --clip 0"
run="--data synthetic --steps 2 --eval-batches 0 --threads 2 $how"

# The most bytes that were resident in the process of this command.
peak() {
    python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)' "$@"
}

echo "model,order,live_bytes,peak_rss_bytes,command"
for model in vgg11:batch=32 alexnet:batch=32 gpt2:batch=2,seq=512 vit_b_16:batch=4 mobilenet_v2:batch=8; do
    for order in program pleat; do
        # shellcheck disable=SC2086 # lists of options
        live=$("$pleat" memory $model $how --order $order --json | sed 's/.*"live_bytes": \([0-9]*\).*/\1/')
        # shellcheck disable=SC2086
        echo "\"$model\",$order,$live,$(peak "$pleat" train $model $run --order $order),\"pleat train $model $run --order $order\""
    done
done
