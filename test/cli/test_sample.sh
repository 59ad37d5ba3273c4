# Pictures that a checkpoint makes: written, the same for the same seed, scored against real ones; and what is
# refused. Text is sampled in test_help.sh and test_errors.sh.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf pictures saved gan colors judge shallow ./*.png
draw_folder pictures
train=("$pleat" train --data pictures --threads 1)
net=resnet18:stages=2,blocks=1,width=8,size=12,classes=4,batch=16
runs 0 '' "${train[@]}" dcgan:size=8,width=4,z=8,channels=1,batch=8 --steps 20 --save gan
runs 0 '' "${train[@]}" sngan:size=32,width=4,z=8,batch=2 --steps 1 --eval-batches 0 --save colors
runs 0 '' "${train[@]}" $net --steps 40 --lr 5e-3 --save judge
runs 0 '' "$pleat" train "$tiny" --data "$0" --seq 16 --batch 4 --threads 1 --steps 1 --save saved
gan=("$pleat" sample gan --threads 1)

# -- pictures in a file ---------------------------------------------------------------------------------------
is_png() { # FILE WIDTH HEIGHT: by the first bytes
    [ "$(head -c 24 "$1" | od -An -tu1 | xargs)" = "137 80 78 71 13 10 26 10 0 0 0 13 73 72 68 82 0 0 0 $2 0 0 0 $3" ]
}
runs 0 'one.png: 64 pictures side by side, 82 x 82 pixels' "${gan[@]}" -o one.png
check 'nothing on stdout' test ! -s out
check 'a PNG' is_png one.png 82 82
runs 0 '' "${gan[@]}" -o again.png --seed 1
check 'one seed, one picture' cmp one.png again.png
runs 0 '' "${gan[@]}" -o other.png --seed 2
check 'another seed' test -n "$(cmp one.png other.png 2>&1)"
runs 0 'few.png: 5 pictures' "${gan[@]}" -o few.png --pictures 5
check 'two rows of three' is_png few.png 32 22
runs 0 '' "${gan[@]}" -o -
check 'the file alone on stdout' cmp one.png out
runs 0 '' "${gan[@]}" -o json.png --json
check '--json tells the file' grep -q '"pictures": 64, "seed": 1, "file": "json.png", "in_file": 64' out
check 'the same file' cmp one.png json.png
runs 0 'colors.png: 3 pictures' "$pleat" sample colors --threads 1 -o colors.png --pictures 3
check 'in colours' is_png colors.png 70 70

# -- scored ---------------------------------------------------------------------------------------------------
score=("${gan[@]}" --features judge --data pictures --pictures 100)
fid() { sed -n 's/.*"fid": \([0-9.e-]*\).*/\1/p' "$1"; }
runs 0 'scored.png: 64 pictures' "${score[@]}" -o scored.png
check 'scored pictures are the same' cmp one.png scored.png
check 'a score' grep -qE '^FID [0-9.]+ of 100 made pictures against 100 real ones, by 16 features$' out
check 'two scores' grep -qE '^inception score [0-9.]+, of the real ones [0-9.]+ \(1 to 4\)$' out
runs 0 '' "${score[@]}" --json
cp out first
runs 0 '' "${score[@]}" --json
check 'the same score' cmp first out
check 'all real ones' grep -q '"pictures_real": 100' out
check 'the real ones are told apart' awk -F'inception_score_real": ' '{ exit !($2 + 0 > 2 && $2 + 0 <= 4) }' out
runs 0 '' "${score[@]}" --json --pictures 300
check 'no more real ones than there are' grep -q '"pictures_real": 240' out

# -- refused --------------------------------------------------------------------------------------------------
refuses 2 "makes pictures: -o FILE.png writes them, --features DIR --data PICTURES scores them" "${gan[@]}"
for option in '--prompt x' '--words x' '--bytes 5' '--temperature 1' '--top 3'; do
    # shellcheck disable=SC2086 # two words
    refuses 2 "${option% *} is for text, and model 'dcgan:" "${gan[@]}" -o no.png $option
done
for option in '-o no.png' '--pictures 3' '--features judge --data pictures'; do
    # shellcheck disable=SC2086 # two words and more
    refuses 2 "${option%% *} is for pictures, and model 'gpt2:" "$pleat" sample saved $option
done
refuses 2 '--features has no effect without --data' "${gan[@]}" --features judge
refuses 2 '--data has no effect without --features' "${gan[@]}" -o no.png --data pictures
refuses 2 '--pictures 1: a score is of many' "${score[@]}" --pictures 1
refuses 2 '1000000 pictures of 8 x 8 are 10002 x 10002 pixels, more than the 33554432' "${gan[@]}" -o no.png \
    --pictures 1000000
refuses 3 "reads images, not text, and makes no pictures" "$pleat" sample judge -o no.png
refuses 3 'features are what the last product of a classifier reads' "${score[@]}" --features gan
refuses 3 'features are what the last product of a classifier reads' "${score[@]}" --features saved
refuses 3 'none: cannot open' "${score[@]}" --features none
refuses 3 'nowhere: cannot open' "${score[@]}" --data nowhere
refuses 3 'neither begins as a file of IDX' "${score[@]}" --data one.png
refuses 2 'these are no pictures' "${score[@]}" --data synthetic
refuses 3 'nowhere/x.png: cannot be written: ' "${gan[@]}" -o nowhere/x.png
check 'nothing was written' test ! -e no.png
finish
