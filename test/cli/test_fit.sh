# pleat fit: figures that made the runs are found again; what is wrong in a file is named.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

# Runs "measured" on a machine whose kernels start in 40 us, not in 2, and whose products reach 0.35 of the peak.
runs 0 '' "$pleat" plan mlp --cluster local:2 --strategy dp -o usual.json
sed -n 's/^ *"cluster": "\(.*\)",$/\1/p' usual.json | sed 's/\\u000a/\n/g; s/\\"/"/g' \
    | sed 's/kernel_start: {value: 2 us/kernel_start: {value: 40 us/; s/matmul_efficiency: {value: 0.7/matmul_efficiency: {value: 0.35/' \
    > truth.yaml
check 'another machine' grep -q '40 us' truth.yaml
echo 'set,model,cluster,strategy,measured_s' > rows.csv
for hidden in 16 64 256 512 1024; do
    for layers in 1 2 3 4; do
        model=mlp:layers=$layers,hidden=$hidden,batch=64
        runs 0 '' "$pleat" plan "$model" --cluster truth.yaml --strategy dp --json
        echo "mine,\"$model\",local:2,\"dp\",$(sed -n 's/.*"predicted": {"step_seconds": \([^,]*\),.*/\1/p' out)" >> rows.csv
    done
done
echo 'other,gpt2,8xv100,dp,1' >> rows.csv
echo 'mine,nothing,local:2,dp,1' >> rows.csv
runs 0 'line 23: ' "$pleat" fit rows.csv --cluster local:2 --rows 20 -o fitted.yaml --json
check 'those of other devices do not count' grep -q '"others": 1, "refused": 1' out
number() { sed -n "s/.*$1\": \([^,}]*\)[,}].*/\1/p" out; }
near() { awk "BEGIN { exit !($1 > $2 * $3 && $1 < $2 / $3) }"; }
check 'the start of kernels' near "$(number 'kernel_start", "before": 2e-06, "after')" 40e-6 0.8
check 'the efficiency of products' near "$(number 'matmul_efficiency", "before": 0.7[0-9]*, "after')" 0.35 0.8
check 'runs held out' grep -qE '"held_out": \{"runs": 4, "mean_error_before": 0\.[2-9][0-9]*, "mean_error": 0\.0[0-9]*' out
check 'where a figure is from' grep -q 'fitted to 16 runs of rows.csv; off by' fitted.yaml
runs 0 '' "$pleat" plan mlp --cluster fitted.yaml --strategy dp

refuses 2 'give --cluster NAME' "$pleat" fit rows.csv
echo model,cluster,strategy > bad.csv
refuses 3 "bad.csv: line 1 names no column 'measured_s'" "$pleat" fit bad.csv --cluster local:2
printf 'model,cluster,strategy,measured_s\nmlp,local:2,dp,-1\n' > bad.csv
refuses 3 "bad.csv: line 2: measured_s is '-1'" "$pleat" fit bad.csv --cluster local:2
printf 'model,cluster,strategy,measured_s\nmlp,local:2\n' > bad.csv
refuses 3 "bad.csv: line 2 has no 'strategy'" "$pleat" fit bad.csv --cluster local:2
refuses 5 "none of 22 runs is on devices of 'h100'" "$pleat" fit rows.csv --cluster 8xh100
finish
