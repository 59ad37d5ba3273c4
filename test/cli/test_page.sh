# The pages of show and memory as a browser draws them: page_checks.js looks at each from inside, and the
# page of a large plan stays small.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"

checks=$(dirname "$0")/page_checks.js
most=1048576 # bytes of a page of 192 layers: 25,000 steps

runs 0 '' "$pleat" plan gpt2:layers=192 --cluster 2x8xv100 --strategy zero=3 -o large.json
runs 0 '' "$pleat" show large.json -o large.html
check "the page of 192 layers has at most $most bytes" test "$(wc -c < large.html)" -le $most
check 'the page says that it needs its script' grep -q '<noscript>' large.html

small=gpt2:layers=3,hidden=16,heads=4,vocab=64,seq=8,batch=8
blocks=llama:layers=12,hidden=16,heads=4,kv=2,ffn=32,vocab=64,seq=8,batch=8,dtype=bf16
hostile="<img src=x onerror=alert(1)>&amp;\"'.json"
plan() { # FILE MODEL OPTIONS
    runs 0 '' "$pleat" plan "$2" "${@:3}" -o "$1"
}
plan one.json mlp --devices 1
plan mlp.json mlp:layers=2,in=8,hidden=8,classes=8,batch=8 --cluster 1x4xv100 --strategy tp=2,dp
plan blocks.json "$blocks" --cluster 1x4xv100 --strategy zero=3
plan tp.json "$small" --cluster 1x4xv100 --strategy tp=2,dp
plan zero.json "$small" --cluster 1x4xv100 --strategy zero=3
plan auto.json gpt2 --cluster 2x8xv100
plan image.json resnet18:size=32,batch=8 --devices 2
cp tp.json "$hostile"
runs 0 '' "$pleat" memory "$small" --html memory.html

command -v chromium > /dev/null || { [ "$failures" = 0 ] && skip_all 'no chromium, which draws the pages'; finish; }

# draws PAGE [KNOWN]: what a browser makes of it passes the checks; KNOWN is the title of a part of a tensor.
draws() {
    [ -z "${PLEAT_SANITIZE:-}" ] || return 0 # the browser has none
    awk -v checks="$checks" -v known="${2:-}" '
        /^<title>/ { print "<script>const errors = []; addEventListener(\"error\", (e) => errors.push(e.message));</script>" }
        /^<body>/ { print "<body data-known=\"" known "\">"; next }
        /^<\/body>/ { print "<script>"; while ((getline line < checks) > 0) print line; print "</script>" }
        { print }' "$1" > checked.html
    timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/chromium" --dump-dom \
        "file://$PWD/checked.html" > dom 2> /dev/null
    ! grep '^FAILED' dom || say_failure "$1: see above"
    grep -qE '^checks: [0-9]{2,}' dom || say_failure "$1: the checks did not run"
}
for name in one blocks auto image; do
    runs 0 '' "$pleat" show $name.json -o page.html
    draws page.html
done
runs 0 '' "$pleat" show mlp.json -o page.html
draws page.html '[0:4, 0:8] tensor=0; devices 0 2'
draws page.html '[4:8, 0:8] tensor=1; devices 1 3'
runs 0 '' "$pleat" show tp.json zero.json -o page.html
draws page.html
runs 0 '' "$pleat" show tp.json tp.json mlp.json -o page.html
draws page.html
runs 0 '' "$pleat" show "$hostile" zero.json -o page.html
draws page.html
[ -n "${PLEAT_SANITIZE:-}" ] || check 'a name is text' grep -qF "&lt;img src=x onerror=alert(1)&gt;&amp;amp;\"'.json" dom
draws large.html
draws memory.html
finish
