# Files that the command writes: links, pipes and devices stay what they are; folders are tried before the work.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
chmod -R u+w work 2> /dev/null
rm -rf work
mkdir -p work/far
cd work || exit 1

plan=("$pleat" plan mlp --devices 2)
runs 0 '' "${plan[@]}" -o plain.json
cp plain.json want
same() { check "$1 has the plan" cmp -s "$1" want; }
is_link() { check "$1 is a link still" test -L "$1"; }
reports() { # FILE: the text of plan, whose times differ from run to run
    check "$1 has no report" grep -q '^step .* predicted' "$1"
    check "$1 has half a report" grep -q '^one step ' "$1"
}
no_rest() { check 'no temporary file stays' test -z "$(find . -name '*.tmp')"; }

# -- links -------------------------------------------------------------------------------------------------
echo old > far/target
ln -s far/target one          # relative, into another folder
ln -s one two                 # of a link
ln -s "$PWD/far/target" three # absolute
ln -s far/new dangling
(cd far && ln -s ../back up)
ln -s far/up round            # relative to the folder of the second link
for link in one two three; do
    echo old > far/target
    runs 0 '' "${plan[@]}" -o $link
    is_link $link
    same far/target
done
runs 0 '' "${plan[@]}" -o dangling
is_link dangling
same far/new
runs 0 '' "${plan[@]}" -o round
is_link round
is_link far/up
same back
make_clicks() { # rows of a label, 13 numbers and 26 ids
    for i in {1..40}; do printf '%d%s\n' $((i % 2)) "$(printf '\t1%.0s' {1..13})$(printf '\t%x' {1..26})"; done
}
make_clicks > clicks.tsv
count=("$pleat" data count dlrm --data clicks.tsv)
runs 0 '' "${count[@]}" -o counts.safetensors
runs 0 '' "${count[@]}" -o two
is_link two
check 'a link to the counts' cmp -s far/target counts.safetensors
runs 0 '' "${count[@]}" -o -
check 'counts on stdout' cmp -s out counts.safetensors
refuses 3 "gone/x: cannot be written: folder 'gone': No such file|mkdir -p" "${count[@]}" -o gone/x
ln -s gone/x nowhere
refuses 3 "nowhere: cannot be written: folder 'gone': No such file|mkdir -p 'gone'" "${plan[@]}" -o nowhere
ln -s loop loop
refuses 3 'loop: cannot be written: Too many levels' "${plan[@]}" -o loop
mkdir -p real
ln -s real linked
runs 0 '' "${plan[@]}" -o linked/x.json
same real/x.json
no_rest

# -- owner and permissions stay; a neighbour is not touched ------------------------------------------------
echo mine > kept.json.tmp
echo old > kept.json
chmod 640 kept.json
runs 0 '' "${plan[@]}" -o kept.json
check 'the permissions stay' test "$(stat -c %a kept.json)" = 640
check 'a file of the user stays' test "$(cat kept.json.tmp)" = mine
rm kept.json.tmp
name=$(printf 'n%.0s' {1..255})
runs 0 '' "${plan[@]}" -o "$name"
same "$name"

# -- pipes and devices -------------------------------------------------------------------------------------
mkfifo pipe
cat pipe > got &
runs 0 '' "${plan[@]}" -o pipe
wait $!
check 'the pipe is a pipe still' test -p pipe
check 'its reader has the plan' cmp got want
reports out
ln -s pipe topipe
cat pipe > got &
runs 0 '' "${plan[@]}" -o topipe
wait $!
is_link topipe
check 'through a link' cmp got want
long=("$pleat" plan gpt2:layers=24,hidden=48,vocab=256,seq=64,batch=8 --devices 2 --strategy dp)
head -c 10 pipe > got &
runs 7 'pipe: cannot write: Broken pipe' "${long[@]}" -o pipe # its reader leaves when a pipe's 64 KiB are not all
wait $!
reports out
runs 0 '' bash -c '"$@" -o >(cat > got; echo > done); while [ ! -e done ]; do sleep 0.02; done' x "${plan[@]}"
check 'a process reads it' cmp got want
runs 0 '' bash -c '"$@" -o /dev/fd/3 3> got' x "${plan[@]}"
check 'an open descriptor' cmp got want
runs 0 '' bash -c '"$@" -o /dev/fd/3 3>> got' x "${plan[@]}"
check 'at its end' cmp got <(cat want want)
if mknod null c 1 3 2> /dev/null && mknod full c 1 7 2> /dev/null && : > null 2> /dev/null; then
    runs 0 '' "${plan[@]}" -o null
    check 'the device is one still' test -c null
    reports out
    runs 7 'full: cannot write: No space left on device' "${plan[@]}" -o full
    check 'the full device is one still' test -c full
    reports out
else
    skip 'devices: only root may make them, where the disk allows it'
fi
rm -f null full

# -- stdout ------------------------------------------------------------------------------------------------
for name in - /dev/stdout /dev/fd/1 /proc/self/fd/1; do
    "${plan[@]}" -o $name > got 2> err || say_failure "-o $name > file: $?"
    check "$name: the file has the plan alone" cmp got want
    reports err
    "${plan[@]}" --json -o $name 2> err | cat > got
    check "$name: a pipe has the plan alone" cmp got want
    check "$name: stderr has the JSON" grep -q '^{' err
done
"${plan[@]}" -o got > got 2> err
check 'stdout by its name' cmp got want
check 'no file of the name -' test ! -e -
runs 3 '-: cannot be written: stdout is closed' bash -c '"$@" -o - >&-' x "${plan[@]}"

# -- refused before the work, by every command in the same words -------------------------------------------
cat > three.csv << 'END'
id,lower,upper,size
a,0,2,4
END
writers=("plan mlp --devices 2 -o" "show plain.json -o" "memory mlp --html" "memory --csv three.csv -o"
    "show plain.json -o page.html --trace" "probe --quick --devices 1 --threads 1 -o"
    "train mlp:layers=1,in=4,classes=3,batch=4 --data synthetic --steps 1 --threads 1 --trace")
for writer in "${writers[@]}"; do
    # shellcheck disable=SC2206 # arguments
    command=("$pleat" $writer)
    refuses 3 "no/x: cannot be written: folder 'no': No such file or directory; mkdir -p 'no' makes it" "${command[@]}" no/x
    refuses 3 'far: cannot be written: it is a folder; name a file in it' "${command[@]}" far
    refuses 3 'far/: cannot be written: it names no file' "${command[@]}" far/
    refuses 3 "want/x: cannot be written: no file can be made in folder 'want': Not a directory" "${command[@]}" want/x
    runs 0 '' "${command[@]}" one
    is_link one
    check "$writer wrote" test -s far/target
done
if command -v python3 > /dev/null; then
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
    refuses 3 'sock: cannot be written: it is a socket' "${plan[@]}" -o sock
fi
mkdir locked
echo old > locked/there
chmod 555 locked
if [ "$(id -u)" = 0 ]; then
    skip 'a folder that is not ours: root writes everywhere'
else
    refuses 3 "no file can be made in folder 'locked': Permission denied|- for stdout" "${plan[@]}" -o locked/x
    runs 0 '' "${plan[@]}" -o locked/there # the file is ours
    same locked/there
fi
chmod 755 locked

# -- a disk that is full at the end, by a limit on the size of files ----------------------------------------
echo old > there.json
runs 7 'there.json: cannot write: File too large' bash -c 'ulimit -f 4; exec "$@"' x "${plan[@]}" -o there.json
reports out
check 'the old file stays' test "$(cat there.json)" = old
no_rest

# -- checkpoints in a folder that is a link ------------------------------------------------------------------
mkdir saved
ln -s saved latest
runs 0 'saved step 1 in latest' "$pleat" train mlp:layers=1,in=4,classes=3,batch=4 --data synthetic --steps 1 --save latest
is_link latest
check 'its folder has them' test -s saved/step-00000001.safetensors
finish
