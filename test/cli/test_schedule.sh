# pleat schedule: made, compared, written and read; what is wrong is named.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

schedule=("$pleat" schedule)
runs 0 '' "${schedule[@]}" --ranks 4 --micro 8
for name in gpipe 1f1b interleaved zb-h1 zb-h2 zbv dualpipev search; do
    check "$name is compared" grep -qE "^$name +[0-9.]+ s +[0-9.]+ %" out
done

runs 0 '' "${schedule[@]}" 1f1b --ranks 4 --micro 8 -o one.csv
check 'the wait of 1f1b' grep -q 'a rank computes 24 s, and waits 27.27 %' out
check 'its picture' grep -qF '    0  0123......AA4BB5CC6DD7EE.FF.GG.HH' out
check "PyTorch's rows" test "$(head -n 1 one.csv)" = 0F0,0F1,0F2,0F3,,,,0B0,0F4,0B1,0F5,0B2,0F6,0B3,0F7,0B4,,0B5,,0B6,,0B7
runs 0 '' "${schedule[@]}" --csv one.csv -o two.csv --json
check 'read as it was written' cmp one.csv two.csv
check 'as one object' grep -q '^{"schema": "pleat.schedule/1", "schedule": "one.csv", "ranks": 4' out

# -- a stage takes its share of what a rank takes: more of them wait less ----------------------------------
runs 0 '' "${schedule[@]}" interleaved --ranks 4 --micro 8 --chunks 4
check 'closed form' grep -q '^step   26.25 s' out

# -- stages that are not alike -------------------------------------------------------------------------------
runs 0 '' "${schedule[@]}" 1f1b --ranks 3 --micro 6 --times 1,1,1/2,2,2/1,1,1
check 'the slowest stage decides' grep -q '^step   40 s: a rank computes 36 s' out
refuses 2 '--times has only those of 2 stages, and there are 3' "${schedule[@]}" 1f1b --ranks 3 --times 1,1,1/2,2,2
refuses 2 'more than those of 1 stages, and there are 1' "${schedule[@]}" 1f1b --ranks 1 --times 1,1,1/2,2,2

# -- within a memory -----------------------------------------------------------------------------------------
runs 0 '' "${schedule[@]}" search --ranks 8 --micro 24 --times 18522,18086,9337 --send 601 --memory 16 \
    --rest 0.3664122137404580 --apart
check 'proven' grep -q '^bound  none with its memory is faster (proven)' out
check 'no more than it' grep -q '^held   16 micro-batches' out

# -- mistakes --------------------------------------------------------------------------------------------------
printf '0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n' > deadlock.csv
refuses 3 "deadlock.csv: a deadlock: rank 0 waits in pass 1, 0B0, for rank 1's 1B0; rank 1 waits" \
    "${schedule[@]}" --csv deadlock.csv
printf '0F0,0B0\n1F0\n' > missing.csv
refuses 3 'missing.csv: stage 1 has no B, or I and W of micro-batch 0' "${schedule[@]}" --csv missing.csv
refuses 3 'none.csv' "${schedule[@]}" --csv none.csv
refuses 2 'there is no schedule|there are: gpipe, 1f1b' "${schedule[@]}" best
refuses 2 'a rank has 1 stage in schedule 1f1b, not 2' "${schedule[@]}" 1f1b --chunks 2
refuses 2 'schedule zbv on 4 ranks takes 8 micro-batches or more' "${schedule[@]}" zbv --micro 7
refuses 2 'kept to by schedule search alone, not by zb-h2' "${schedule[@]}" zb-h2 --memory 4
refuses 2 'three numbers of seconds' "${schedule[@]}" gpipe --times 1e308,1,1
refuses 2 'three numbers of seconds' "${schedule[@]}" 1f1b --times 1,2
refuses 2 'not both' "${schedule[@]}" 1f1b --csv one.csv
refuses 2 'name a schedule' "${schedule[@]}" --json
refuses 5 'no schedule was found that holds at most 0.5' "${schedule[@]}" search --memory 0.5

finish
