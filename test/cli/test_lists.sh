# Layouts and searches are lists: help, doctor, manual and README.md say the same.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

readme=$(< "$PLEAT_SOURCE_DIR/README.md")
for list in layouts searches; do
    runs 0 '' "$pleat" help --$list
    check "$list: more than a head" test "$(wc -l < out)" -gt 5
    [[ $readme == *"$(< out)"* ]] || say_failure "README.md does not have the table of: pleat help --$list"
done

runs 0 '' "$pleat" doctor --json
for file in "$PLEAT_SOURCE_DIR"/src/layouts/*.c; do
    grep -q '^const pl_layout pl_layout_' "$file" || continue
    name=$(basename "$file" .c)
    grep -q "\"layouts\": \[[^]]*\"$name\"" out || say_failure "layouts/$name.c is in no list"
done
runs 0 '' "$pleat" plan --help
cp out help
runs 0 '' "$pleat" help --searches
for name in $(sed -n 's/^| `\([a-z0-9+]*\)`.*/\1/p' out); do
    grep -qE "^  $(printf %s "$name" | sed 's/+/[+]/') " help || say_failure "plan --help does not have --search $name"
done
finish
