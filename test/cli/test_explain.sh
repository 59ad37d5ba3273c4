# What pleat explain and why-not tell of a small model on four devices.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

model=mlp:layers=5,in=256,hidden=1024,classes=256,batch=1024
explain=("$pleat" explain "$model")
why_not=("$pleat" why-not "$model")
on=(--cluster 4xv100)
says() { grep -qF -- "$1" out || say_failure "no '$1' on stdout"; }
column() { grep -qE -- "$1" out || say_failure "no line like '$1' on stdout"; }
count_lines() { wc -l < out; }

# -- an operator: one of equal blocks, or all of them -----------------------------------------------------
runs 0 '' "${explain[@]}" layers.2.linear "${on[@]}"
check 'nothing on stderr' test ! -s err
column '^layers\.\*\.linear: einsum ".*->.*"'
column '^factor +size +one device$'
column '^choice +step ms +more '
column '  taken$'
column '^made '
check 'no line is wider than 130 columns' test -z "$(awk 'length > 130' out)"
cp out one
runs 0 '' "${explain[@]}" 'layers.*.linear' "${on[@]}"
check 'any block tells the same' cmp -s one out
tr '\n' ' ' < out | grep -qF 'computing is its own, messages are those of its operands, and the rest' ||
    say_failure 'no legend of the columns'
runs 0 '' "${explain[@]}" 'layers.{1,...,3}.linear' "${on[@]}"
check 'so is one with its middle left out' cmp -s one out
refuses 2 'nearest are' "${explain[@]}" 'layers.{7-9}.linear' "${on[@]}"
runs 0 '' "${explain[@]}" 'layers.{1-3}.linear' "${on[@]}"
check 'a set of numbers is one of them' cmp -s one out
runs 0 '' "${explain[@]}" layers.2.linear "${on[@]}" --most 0
check 'without other choices it is shorter' test "$(count_lines)" -lt "$(wc -l < one)"

# -- a tensor ---------------------------------------------------------------------------------------------
runs 0 '' "${explain[@]}" 'layers.*.weight' "${on[@]}"
column '^layers\.\*\.weight: weight, f32\['
column '^stored '
column '^back from '
runs 0 '' "${explain[@]}" loss "${on[@]}"
says 'f32[]'

# -- JSON -------------------------------------------------------------------------------------------------
runs 0 '' "${explain[@]}" 'layers.*.linear' "${on[@]}" --json
check 'one line' test "$(count_lines)" = 1
says '"schema": "pleat.explain/1"'
says '"name": "layers.*.linear"'
says '"does": {"copies": '
runs 0 '' "${explain[@]}" 'layers.*.weight' "${on[@]}" --json
says '"way": [{"where": "stored"'

# -- what is no name --------------------------------------------------------------------------------------
refuses 2 "no operator or tensor 'layers.2.linaer'|'layers.*.linear'|pleat graph" \
    "${explain[@]}" layers.2.linaer "${on[@]}"
refuses 2 "that differ: " "${explain[@]}" 'layers.*.*' "${on[@]}"
refuses 2 'MODEL NAME is missing' "${explain[@]}" "${on[@]}"
refuses 2 'give --cluster' "${explain[@]}" layers.2.linear

# -- why not ----------------------------------------------------------------------------------------------
runs 0 '' "${why_not[@]}" tp=4 "${on[@]}"
check 'nothing on stderr' test ! -s err
column '^tp=4 is [0-9.]+ ms slower than '
column '^step +[0-9.]+ ms +[0-9.]+ ms +\+[0-9.]+ ms$'
column '^memory '
column '^message +over +tp=4 +taken +difference +tensor$'
check 'no line is wider than 130 columns' test -z "$(awk 'length > 130' out)"
runs 0 '' "${why_not[@]}" dp "${on[@]}" --json
check 'one line' test "$(count_lines)" = 1
says '"schema": "pleat.why-not/1"'
says '"plans": ["dp", '
says '"memory_bytes": {"peak": ['
# Where memory binds, what recomputes blocks fits on the mesh that is asked about.
tight=gpt2:layers=3,hidden=256,heads=4,vocab=1000,seq=256,batch=32,dropout=0
runs 0 '' "$pleat" why-not $tight zero=3,tp=2 --cluster 2x2xv100 --memory 110MB
column '; the best on the mesh data=2 tensor=2 takes [0-9.]+ ms$'
refuses 2 "'auto' is what others are compared with" "${why_not[@]}" auto "${on[@]}"
refuses 2 "'zz' is not one of its words" "${why_not[@]}" zz "${on[@]}"
refuses 2 'tp=3' "${why_not[@]}" tp=3 "${on[@]}"

finish
