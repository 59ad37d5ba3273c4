# test/cli/helpers.sh - what the tests of the command share; each sources it first.
#   runs CODE WORDS COMMAND...     runs it; checks the exit code, and that stderr has every one of the
#                                  WORDS (separated by |); leaves its output in the files out and err
#   refuses CODE WORDS COMMAND...  the same, and nothing on stdout but one error, or several of usage
#   check TEXT COMMAND...          the command must succeed
# shellcheck shell=bash
set -u
pleat=${PLEAT_BIN:?set it to the path of pleat}
failures=0
tiny=gpt2:layers=1,hidden=16,heads=2,vocab=256,dropout=0.2

say_failure() {
    echo "FAILED: $*"
    sed 's/^/    stderr: /' err | tail -n 15
    failures=$((failures + 1))
}

# Of options after pleat's name that are given twice the last stands, as tests write "${train[@]}" --steps 4 (pleat
# itself refuses that: test_errors.sh). Leaves them in the array arguments.
last_wins() {
    local i k later ours=
    local -a given=("$@")
    arguments=()
    for ((i = 0; i < $#; i++)); do
        [ "${given[i]}" = "$pleat" ] && ours=1
        later=
        if [ -n "$ours" ] && [[ ${given[i]} =~ ^--?[a-zA-Z][a-z0-9-]*$ ]]; then
            for ((k = i + 1; k < $#; k++)); do
                [ "${given[k]}" = "${given[i]}" ] && later=1
            done
        fi
        if [ -z "$later" ]; then
            arguments+=("${given[i]}")
        elif [[ ${given[i + 1]} != -* ]]; then
            i=$((i + 1))
        fi
    done
}

runs() {
    local code=$1 words=$2 rc=0 word
    local -a arguments
    shift 2
    last_wins "$@"
    set -- "${arguments[@]}"
    timeout 240 "$@" > out 2> err < /dev/null || rc=$?
    [ "$rc" = "$code" ] || say_failure "exit code $rc, not $code: $*"
    while IFS= read -r word; do
        [ -z "$word" ] || grep -qF -- "$word" err || say_failure "no '$word' on stderr: $*"
    done < <(tr '|' '\n' <<< "$words")
}

refuses() {
    runs "$@"
    shift 2
    [ ! -s out ] || say_failure "a result on stdout: $*"
    grep -q '^error: ' err || say_failure "no line 'error: ...': $*"
}

check() {
    local text=$1
    shift
    "$@" || say_failure "$text"
}

# skip REASON: a part of this test. skip_all REASON: all of it; ctest shows the test as skipped.
skip() {
    echo "skipped: $*"
}
skip_all() {
    skip "$@"
    exit 77
}

# Sanitizers take long: under them one in so many calls is false. For loops: left_out 3 && continue
left_out_calls=0
left_out() {
    [ -n "${PLEAT_SANITIZE:-}" ] && [ $((left_out_calls++ % $1)) != 0 ]
}

# Losses of a --json log, one per line.
losses() {
    sed -n 's/.*"loss": \([^,}]*\).*/\1/p' "$1"
}

# Two logs of training have the same number of losses (at least one), equal to 1e-5 of each.
same_losses() {
    paste <(losses "$1") <(losses "$2") | awk '
        NF != 2 || $1 - $2 > 1e-5 * $1 || $2 - $1 > 1e-5 * $1 { print "    step " NR ": " $0; bad = 1 }
        END { exit bad || !NR }'
}

make_text() {
    awk 'BEGIN { for (i = 0; i < 400; i++) print i * 7919 % 1000, "the quick brown fox", i * 31 % 97 }' \
        > "$1"
}

# tensors FILE HEADER < DATA: a safetensors file.
tensors() {
    {
        # shellcheck disable=SC2059 # the format is the length, 8 bytes
        printf "\\$(printf %03o $((${#2} % 256)))\\$(printf %03o $((${#2} / 256)))\0\0\0\0\0\0"
        printf %s "$2"
        cat
    } > "$1"
}

# Text as data of tensors: rows of 16 bytes, and those one byte ahead.
make_rows() {
    { head -c 8000 text.txt; tail -c +2 text.txt | head -c 8000; } | tensors "$1" \
        '{"tokens":{"dtype":"U8","shape":[500,16],"data_offsets":[0,8000]},'`
        `'"targets":{"dtype":"U8","shape":[500,16],"data_offsets":[8000,16000]}}'
}

# N pictures of 12 x 12, noise with a bright square in the quarter that the label says, as octal escapes; WHAT:
# pictures, labels, or both, as in a record of CIFAR, whose pictures are 32 x 32 and of 3 channels.
draw() { # N SEED WHAT
    awk -v n="$1" -v seed="$2" -v what="$3" '
        function big(x) { printf "\\0000\\0000\\0%03o\\0%03o", x / 256, x % 256 }
        function show(side, channels,    c, y, x, inside) {
            for (c = 0; c < channels; c++)
                for (y = 0; y < side; y++)
                    for (x = 0; x < side; x++) {
                        inside = int(2 * y / side) == int(label / 2) && int(2 * x / side) == label % 2
                        printf "\\0%03o", inside * 150 + 60 * rand()
                    }
        }
        BEGIN {
            srand(seed)
            for (i = 0; i < n; i++) labels[i] = int(4 * rand())
            if (what != "both") { printf "\\0000\\0000\\0010\\0%03o", what == "labels" ? 1 : 3; big(n) }
            if (what == "pictures") { big(12); big(12) }
            for (i = 0; i < n; i++) {
                label = labels[i]
                if (what != "pictures") printf "\\0%03o", label
                if (what == "pictures") show(12, 1)
                if (what == "both") show(32, 3)
            }
        }'
}

# Those in a folder of IDX files, 200 to learn and 40 to validate.
draw_folder() { # FOLDER
    local part name n seed
    mkdir "$1"
    for part in train:200:1 t10k:40:2; do
        IFS=: read -r name n seed <<< "$part"
        printf %b "$(draw "$n" "$seed" pictures)" > "$1/$name-images-idx3-ubyte"
        printf %b "$(draw "$n" "$seed" labels)" > "$1/$name-labels-idx1-ubyte"
    done
}

finish() {
    [ "$failures" = 0 ] || { echo "$failures failed"; exit 1; }
    echo "all passed"
    exit 0
}
