# What the command says about itself: help, exit codes, and JSON that is JSON.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf saved
make_text text.txt

commands='doctor models ops graph probe plan show explain why-not memory verify train sample'
for way in --help -h help; do
    runs 0 '' "$pleat" $way
    for command in $commands; do
        grep -qE "^  $command " out || say_failure "pleat $way does not name $command"
    done
    grep -qE '^  7 +run failed' out || say_failure "pleat $way does not tell the exit codes"
done
for way in --version -V version; do
    runs 0 '' "$pleat" $way
    grep -qE '^pleat [0-9]+\.[0-9]+' out || say_failure "no version: $way"
done

# Every row of the table of options is in the help, with its default.
for command in $commands; do
    runs 0 '' "$pleat" $command --help
    check "$command --help writes nothing on stderr" test ! -s err
    file=$PLEAT_SOURCE_DIR/src/cli/${command//-/_}.c
    names=$(sed -n '/pl_opt opts\[\]/,/^};/s/^ *{ "\([a-z0-9-]*\)",.*/\1/p' "$file")
    check "$file has options" test -n "$names"
    for name in $names; do
        grep -qE -- "^  --?$name( |$)" out || say_failure "$command --help does not name $name"
    done
    grep -q -- '--help' out || say_failure "$command --help does not name --help"
done
for command in plan explain why-not train; do # what stands for a cluster
    runs 0 '' "$pleat" $command --help
    for word in NODESxDEVICESxKIND local:N v100 p5.48xlarge; do
        grep -qE -- "^  $word +[^ ]" out || say_failure "$command --help does not tell what the cluster $word is"
    done
done
for command in plan train verify why-not; do
    runs 0 '' "$pleat" $command --help
    for word in dp dp=N 'zero=1|2|3' tp=2.5d:QxQxD sp spatial=N; do # first, last and a few between
        grep -qF -- "  $word  " out || say_failure "$command --help does not tell what $word means"
    done
done
runs 0 '' "$pleat" train --steps x --help # help comes first, whatever else is wrong
grep -qE -- '--steps N .*\[100\]' out || say_failure 'train --help does not give the default of --steps'
grep -qE -- '--eps X .*\[1e-8\]' out || say_failure 'train --help does not give the default of --eps'

# The manual page and the completion have all commands and options, and their readers accept them.
runs 0 '' "$pleat" help --man
cp out pleat.1
manual=$(< pleat.1)
runs 0 '' "$pleat" help --bash
cp out pleat.bash
for command in $commands; do
    [[ $manual == *".SS \"pleat ${command//-/\\-}"* ]] || say_failure "the manual lacks $command"
    options=$(grep "^    $command) options=" pleat.bash)
    runs 0 '' "$pleat" help $command
    cp out want
    runs 0 '' "$pleat" $command --help
    check "help $command" cmp out want
    for name in $(sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' out); do
        [[ $name = help || $manual == *"\\fB\\-\\-${name//-/\\-}\\fR"* ]] || say_failure "the manual lacks $command --$name"
        [[ $options == *[\"\ ]--$name[\"\ ]* ]] || say_failure "no completion of $command --$name"
    done
done
refuses 2 "no command 'trian' (did you mean 'train'?)" "$pleat" help trian
if command -v groff > /dev/null; then
    check 'the manual is set without warnings' test -z "$(groff -man -ww -Tascii -P-cbou pleat.1 2>&1 > set.txt)"
    check 'the manual has its options' grep -q -- '--gathers-ahead' set.txt
fi
completes() { # WORD... WANT: the last word is completed to WANT
    COMP_WORDS=(pleat "${@:1:$#-1}")
    COMP_CWORD=$(($# - 1))
    _pleat
    [ "${COMPREPLY[*]}" = "${*: -1}" ] || say_failure "completed to '${COMPREPLY[*]}': $*"
}
# shellcheck source=/dev/null
source ./pleat.bash
completes tr train
completes plan --stra --strategy
completes plan gpt2-me gpt2-medium
completes train --json llama3-8 llama3-8b
completes train mlp --data LIC ''

# Every verb with --json: one object, or one per line for train, and nothing else on stdout.
if command -v jq > /dev/null; then
    is_json() { jq -es 'length == 1 and (.[0] | type == "object")' out > /dev/null; }
    are_json() { jq -e 'type == "object"' out > /dev/null && [ "$(jq -s length out)" = "$(wc -l < out)" ]; }
elif command -v python3 > /dev/null; then
    is_json() { python3 -c 'import json; assert type(json.load(open("out"))) is dict'; }
    are_json() { python3 -c 'import json; [json.loads(x).keys() for x in open("out")]'; }
else
    is_json() { true; }
    are_json() { true; }
    skip 'JSON is not parsed: there is neither jq nor python3'
fi
train=("$pleat" train "$tiny" --data text.txt --seq 16 --batch 4 --threads 1 --steps 4)
runs 0 '' "$pleat" doctor --json
check 'doctor --json' is_json
check 'doctor --json: numbers' grep -qE '"cores_usable": [0-9]+, .*"memory_bytes": [0-9]+, "memory_free_bytes": [0-9]+, ' out
check 'doctor --json: no key has a blank' test -z "$(grep -E '"[^"]* [^"]*":' out)"
runs 0 '' "$pleat" models --json
check 'models --json' is_json
runs 0 '' "$pleat" models --json gpt2-medium
check 'models --json NAME' is_json
check 'one model' test "$(grep -c '"name"' out)" = 1
runs 0 '' "$pleat" models GPT2-MEDIUM
check 'models NAME: one model' test "$(grep -cE '^[a-z0-9-]+: |^  [a-z0-9-]+  ' out)" = 1
check 'models NAME: its keys' grep -q '^    hidden=1024 ' out
runs 0 '' "$pleat" models gpt2
check 'models NAME: a family' grep -q '^  gpt-moe-70b ' out
check 'models NAME: no other' test -z "$(grep resnet out)"
refuses 2 "no model has 'nosuch' in its name" "$pleat" models nosuch
for model in gpt-moe-380m wresnet-250m llama3-405b; do
    runs 0 "" "$pleat" graph $model
    check "graph $model counts parameters" grep -q "^  parameters   [0-9]*$" out
done
runs 0 '' "$pleat" ops --json
check 'ops --json' is_json
for model in gpt2 resnet18 mlp efficientnet_b0 roberta-base; do
    runs 0 '' "$pleat" graph $model --json
    check "graph $model --json" is_json
done
runs 0 '' "$pleat" graph mlp --json --forward
check 'graph --forward --json' is_json
runs 0 '' "${train[@]}" --json --eval-every 2 --save saved --timings --explain --program
check 'train --json' are_json
check 'train --json prints 4 steps, 2 validations and the end' test "$(wc -l < out)" = 7
runs 7 'not finite' "${train[@]}" --json --optimizer sgd --clip 0 --lr 1e30
check 'train --json of a loss that is not finite' are_json
for prompt in '' 'the "quick"' '\back	tab'; do
    runs 0 '' "$pleat" sample saved --json --bytes 40 --temperature 2 --prompt "$prompt"
    check "sample --json" is_json
done

# Other ways to look.
runs 0 '' "$pleat" doctor
check 'doctor finds cores' grep -qE '^cores +[0-9]+ usable' out
check 'doctor knows the CPU of the build' grep -q '^build  *this CPU has all that it was compiled for' out
runs 0 '' "$pleat" graph "$tiny,seq=8" --text
check 'the text form begins with its name' grep -q "^graph ${tiny/,dropout/,seq=8,dropout}\$" out
runs 0 'messages under way' "${train[@]}" --devices 2
runs 0 '' "${train[@]}" --steps 0
check 'no steps, no result' test ! -s out
for backend in native ref null; do
    runs 0 '' "${train[@]}" --steps 1 --backend $backend
done
for model in mlp resnet18:size=32,width=4,batch=4; do
    runs 0 'steps in' "$pleat" train $model --data synthetic --steps 2 --threads 1
done
finish
