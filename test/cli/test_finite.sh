# No command says nan or inf of any built-in model: each family, made small, in text, JSON and pages.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

# What makes a model small, of the keys that its family has.
small=(layers=1 hidden=16 heads=2 kv=1 ffn=16 vocab=300 seq=8 batch=4 in=8 experts=4 size=64 patch=16
    stages=2 blocks=1 last=8 divisor=2 depth= width= judge=2 embed=4 attention=16)
"$pleat" models > models.txt
families=$(sed -n 's/^\([a-z0-9_.-]*\): .*/\1/p' models.txt)
usual() { # FAMILY KEY: its default, nothing where there is no such key
    sed -n "/^$1: /,/^\$/s/^    $2=\([^ ]*\) .*/\1/p" models.txt
}
spec_of() { # FAMILY
    local pair key value out=
    for pair in "${small[@]}"; do
        key=${pair%%=*} value=${pair#*=}
        local is
        is=$(usual "$1" "$key")
        [ -n "$is" ] || continue
        case $key:$is in
            experts:0 | blocks:[a-z]*) continue ;;
            size:28) continue ;; # rows of a picture
            size:*) [ -z "$(usual "$1" judge)" ] || value=32 ;; # two networks
            width:*.* | width:1) value=0.1 ;;
            width:*) value=2 ;;
            depth:50) value=18 ;;
            depth:16) value=11 ;;
            depth:*) continue ;;
        esac
        out=$out,$key=$value
    done
    echo "$1:${out#,}"
}

commands=0 families_done=0
has_none() { # TEXT: what out and err say is of numbers
    commands=$((commands + 1))
    ! grep -inE '(^|[^a-z0-9_])[-+]?(nan|inf|infinity)([^a-z0-9_]|$)' out err > found ||
        say_failure "$*: $(head -n 3 found | cut -c 1-300)"
}
finite() { # COMMAND...
    runs 0 '' "$pleat" "$@"
    has_none "$*"
}

n=0
for family in $families; do
    [ -z "${PLEAT_SANITIZE:-}" ] || [ $((n++ % 4)) = 0 ] || continue # they take long
    spec=$(spec_of "$family")
    if ! "$pleat" graph "$spec" --json > out 2> err; then
        echo "not made small: $spec: $(cat err)"
        continue
    fi
    families_done=$((families_done + 1))
    has_none "graph $spec"
    finite plan "$spec" --cluster 2x2xv100 --json
    case $((families_done % 3)) in # they take turns
        0)
            weight=$(grep -o '"weight": "[^"]*"' out | head -n 1 | cut -d '"' -f 4)
            finite explain "$spec" "$weight" --devices 2 --json --most 1
            finite why-not "$spec" dp --devices 2 --json
            ;;
        1)
            finite plan "$spec" --devices 2 -o plan.json
            finite show plan.json -o page.html
            ! grep -oiE '.{30}[^a-z][-+]?(nan|inf)[^a-z].{10}' page.html plan.json > found || say_failure "$spec: $(head -n 2 found)"
            ! grep -oE '.{0,30}[:,[]null.{0,10}' page.html > found || say_failure "$spec: $(head -n 2 found)"
            ;;
        2) finite memory "$spec" --devices 2 --order program --layout llfb --json ;;
    esac
    finite verify "$spec" --strategy auto --devices 2 --steps 1 --threads 1 --json --tolerance 1
done
echo "$commands commands about $families_done families"
check 'most families were made small' test "$families_done" -ge $((n ? n / 5 : 20))

# A sentence that divided zero by zero.
finite plan mlp:hidden=4096,batch=64 --devices 2
finite why-not mlp:hidden=4096,batch=64 dp --devices 2
finish
