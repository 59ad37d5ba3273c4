# Plan files, of the command and of docs/plan.md, against docs/plan.schema.json.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

root=${PLEAT_SOURCE_DIR:?set it to the source tree}
python=
for p in python3 /usr/bin/python3; do
    if "$p" -c 'from jsonschema import Draft202012Validator' 2> /dev/null; then python=$p; fi
done
if [ -z "$python" ]; then
    skip_all 'no python3 with jsonschema (Debian: python3-jsonschema)'
fi

# Tells what is wrong with the first file that is not valid.
validate() {
    "$python" -c '
import json, sys
from jsonschema import Draft202012Validator as V
schema = json.load(open(sys.argv[1]))
V.check_schema(schema)
for path in sys.argv[2:]:
    errors = list(V(schema).iter_errors(json.load(open(path))))
    for e in errors[:3]:
        print(path, e.json_path, e.message[:200], file=sys.stderr)
    if errors:
        sys.exit(1)
' "$root/docs/plan.schema.json" "$@" 2> err
}
invalid() { ! validate "$@"; }
differ() { ! cmp -s "$@"; }

sed -n '/^```json$/,/^```$/{/^```/!p}' "$root/docs/plan.md" > example.json
check 'the example of docs/plan.md is valid' validate example.json
seeds=$root/fuzz/corpus/plan
check 'a plan by hand is valid' validate "$seeds/kept"

# The schema tells mistakes.
for edit in 's/plan\/4/plan\/2/' '/"optimizer"/d' 's/"nodes": 6/"nodes": -6/' 's/"size": 2/"size": 0/' \
    's/"size": 2/"size": 2.5/' 's/"axis": "data"/"axis": "a:b"/' 's/"digest": "/&g/' 's/0\.125/-1/' \
    's/"kept"/"regather"/' 's/"linear:0"/"linear"/' 's/"data": "m"/"data": "mn"/' \
    's/"order"/"ordre"/' 's/"split": {[^}]*}/"split": {}/' 's/"placement": "\[/&]/'; do
    sed "$edit" "$seeds/kept" > wrong.json
    check "the edit $edit changes something" differ "$seeds/kept" wrong.json
    check "the edit $edit is seen" invalid wrong.json
done

for strategy in auto zero=3 tp=2,zero=1 hsdp=2 tp=2d:2x2; do
    runs 0 '' "$pleat" plan "$tiny,batch=8" --strategy "$strategy" --cluster 2x2xv100 -o plan.json
    check "the plan of $strategy is valid" validate plan.json
done
runs 0 '' "$pleat" plan dcgan:width=8,size=8,batch=4 --clip 0 --objectives generator:rate=2 --strategy dp --devices 2 -o plan.json
check 'a plan without clipping, of several objectives, is valid' validate plan.json
finish
