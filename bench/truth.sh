#!/bin/sh
# Do forecasts come true? Probes this machine, then forecasts and measures a training step of each model
# under each strategy: bench/truth.sh [RANKS ...], by default 1 2 4, ranks that are threads.
# All rows go to CSV (bench/truth.csv), the summary to stdout. Exit status 6 when the mean error is above
# 15 %, the rank correlation below 0.9, or a forecast of memory more than 2 % off.
# PLEAT is the program (build/pleat), ROUNDS how often all is measured (2: of a row's rounds the calmest
# counts), STEPS of a round (12), MODELS the models, WORK where cluster files go (build/truth), CALM how
# many seconds to wait, before each run, for others to be done on this machine (60), TRIES how often to
# repeat a run that others disturbed (4).
set -eu
cd "$(dirname "$0")/.."
pleat=${PLEAT:-build/pleat}
rounds=${ROUNDS:-2}
steps=${STEPS:-12}
calm=${CALM:-60}
tries=${TRIES:-4}
work=${WORK:-build/truth}
csv=${CSV:-bench/truth.csv}
models="gpt2:layers=4,hidden=256,heads=4,vocab=512,seq=128,batch=16,dropout=0
    mlp:layers=4,in=1024,hidden=2048,classes=1024,batch=256
    resnet18:stages=2,size=112,classes=100,batch=64"
models=${MODELS:-$models}
warm=3 # steps that are not counted
[ $# -gt 0 ] || set -- 1 2 4
mkdir -p "$work"
rm -f "$work"/rows "$work"/*.seconds "$work"/*.log

machine() {
    name=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    echo "${name:-$(uname -m)}, $(nproc) cores"
}

# On one rank all strategies are one.
strategies() {
    if [ "$1" = 1 ]; then echo dp; else echo "dp zero=3 tp=$1 auto"; fi
}

# FIELD FILE: a number of the JSON object in a file, the first of this name
number() {
    grep -o "\"$1\": [0-9.e+-]*" "$2" | head -n 1 | sed 's/.*: //'
}

# The line "memory of one device: 38.0 MiB of states, 155 MiB of work (...), 512 KiB of scratch", in bytes
arena_bytes() {
    awk '/^memory of one device:/ {
        for (i = 1; i < NF; i++) {
            if ($(i + 1) !~ /^([KMGT]i)?B$/) continue
            by = index("KMGT", substr($(i + 1), 1, 1))
            if ($(i + 2) == "of" && $(i + 3) ~ /^(states|work|scratch)/) sum += $i * 1024 ^ by
        }
        printf "%.0f\n", sum
        exit
    }' "$1"
}

# Median of the steps after the first few, in seconds
median() {
    sed -n 's/.*"loss".*"seconds": \([0-9.e+-]*\).*/\1/p' "$1" | tail -n +$((warm + 1)) | sort -g |
        awk '{ x[NR] = $1 } END { if (!NR) exit 1; print x[int((NR + 1) / 2)] }'
}

# A tag of a row's files, and its command
tag() { echo "$1-$2-$3" | tr -c 'A-Za-z0-9.=\n-' _; }
command_of() {
    how="--strategy $3"
    if [ "$3" = auto ]; then how="--plan $work/$(tag "$@").json"; fi # the very plan that was forecast
    echo "train $1 --data synthetic --eval-batches 0 $how --devices $2 --threads 1 --steps $steps" \
        "--cluster $work/local-$2.yaml --timings --json"
}

# ACTION MODEL RANKS: for each strategy
each_strategy() {
    for strategy in $(strategies "$3"); do "$1" "$2" "$3" "$strategy"; done
}

# Waits for a second in which this machine does next to nothing, at most $calm seconds.
wait_for_calm() {
    left=$calm
    [ "$left" -gt 0 ] || return 0
    while [ "$left" -gt 0 ]; do
        before=$(ticks)
        sleep 1
        echo "$before $(ticks)" | awk '{ exit !($3 - $1 > 0.95 * ($4 - $2)) }' && return
        left=$((left - 1))
    done
    echo "this machine has other work: times are worse than they could be" >&2
}

# Ticks of all cores since the machine started: idle, and all
ticks() {
    awk '/^cpu / { for (i = 2; i <= 9; i++) all += $i; print $5, all }' /proc/stat
}

forecast() {
    at=$work/$(tag "$@")
    "$pleat" plan "$1" --strategy "$3" --cluster "$work/local-$2.yaml" --json -o "$at.json" \
        >"$at.plan" 2>"$at.log"
}

# Runs "$@" until others take less than 3 % of the machine meanwhile, at most $tries times.
alone() {
    left_tries=$tries
    while :; do
        wait_for_calm
        from=$(ticks)
        mine=$(own_ticks)
        "$@"
        left_tries=$((left_tries - 1))
        if echo "$from $(ticks) $mine $(own_ticks)" | awk '{
                all = $4 - $2; busy = all - ($3 - $1); exit !(busy - ($6 - $5) < 0.03 * all)
            }'; then return; fi
        if [ "$left_tries" -le 0 ]; then break; fi
    done
    echo "others worked on this machine meanwhile" >&2
}

# Ticks of a core that commands of this script took
own_ticks() { awk '{ print $16 + $17 }' "/proc/$$/stat"; }

train() {
    # shellcheck disable=SC2046 # words of a command
    "$pleat" $(command_of "$@") >"$at.steps" 2>"$at.log"
}

probe() { "$pleat" probe --devices "$1" --threads 1 -o "$work/local-$1.yaml" >"$work/probe-$1.txt" 2>&1; }

measure() {
    at=$work/$(tag "$@")
    alone train "$@"
    median "$at.steps" >>"$at.seconds"
    echo "$1, $2 ranks, $3: $(tail -n 1 "$at.seconds") s" >&2
}

tell() {
    at=$work/$(tag "$@")
    awk -v model="$1" -v ranks="$2" -v strategy="$3" -v machine="$(machine)" -v date="$(date +%F)" \
        -v seconds="$(number step_seconds "$at.plan")" -v peak="$(number peak_bytes "$at.plan")" \
        -v arena="$(arena_bytes "$at.log")" -v command="pleat $(command_of "$@")" '
        NR == 1 || $1 < least { least = $1 }
        END {
            printf "\"%s\",%d,%s,%.2f,%.2f,%+.1f,%.0f,%.0f,%+.2f,\"%s\",%s,\"%s\"\n", model, ranks, strategy,
                1e3 * seconds, 1e3 * least, 100 * (seconds / least - 1), peak, arena, 100 * (peak / arena - 1),
                machine, date, command
        }' "$at.seconds" >>"$work/rows"
}

# Columns of a row from its end, as a model has commas: 5 numbers before the machine
summarize() {
    sed 's/^"[^"]*",//' "$work/rows" | awk -F, '
        function rank_of(x, n, out,    i, k) { # equal ones share the mean of their places
            for (i = 1; i <= n; i++) {
                out[i] = 0.5
                for (k = 1; k <= n; k++) out[i] += x[k] < x[i] ? 1 : x[k] == x[i] ? 0.5 : 0
            }
        }
        {
            predicted[NR] = $3; measured[NR] = $4
            error = $5 < 0 ? -$5 : +$5; sum += error
            if (error > worst) worst = error
            off = $8 < 0 ? -$8 : +$8
            if (off > memory) memory = off
        }
        END {
            rank_of(predicted, NR, p); rank_of(measured, NR, m)
            for (i = 1; i <= NR; i++) {
                a = p[i] - (NR + 1) / 2; b = m[i] - (NR + 1) / 2
                ab += a * b; aa += a * a; bb += b * b
            }
            rho = aa * bb > 0 ? ab / sqrt(aa * bb) : 0
            printf "%d rows: mean error %.1f %% (most 15), worst %.1f %%; rank correlation %.3f (least 0.9); " \
                "memory at most %.2f %% off (most 2)\n", NR, sum / NR, worst, rho, memory
            exit sum / NR <= 15 && rho >= 0.9 && memory <= 2 ? 0 : 6
        }'
}

# A machine that is shared is not as fast at every minute: each model has a probe right before it.
for n in "$@"; do
    for model in $models; do
        alone probe "$n"
        each_strategy forecast "$model" "$n"
        for _ in $(seq "$rounds"); do each_strategy measure "$model" "$n"; done
        each_strategy tell "$model" "$n"
    done
done
{
    echo "model,ranks,strategy,predicted_ms,measured_ms,error_percent,predicted_peak_bytes,arena_bytes,difference_percent,machine,date,command"
    cat "$work/rows"
} >"$csv"
cut -d, -f1-20 "$work/rows" | sed 's/,"[^"]*",[0-9-]*,".*//' >&2
summarize
