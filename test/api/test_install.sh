# Programs built against what `cmake --install` puts in place, and nothing else of this tree.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/../cli/helpers.sh"

build=$(dirname "$PLEAT_BIN")
grep -q '^PLEAT_SANITIZE:STRING=$' "$build/CMakeCache.txt" || { skip 'built under sanitizers'; exit 77; }
cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
rm -rf tree saved* project static
cmake --install "$build" --prefix "$PWD/tree" > install.log || { say_failure 'nothing is installed'; finish; }
lib=$(dirname "$(find tree -name libpleat.so | head -n 1)")
export PKG_CONFIG_PATH=$PWD/$lib/pkgconfig LD_LIBRARY_PATH=$PWD/$lib
cp "$PLEAT_SOURCE_DIR"/examples/c/*.c .

# -- the shared library, by pkg-config ----------------------------------------------------------------------
for source in *.c; do
    name=${source%.c}
    # shellcheck disable=SC2046 # flags are words
    runs 0 '' "$cc" -std=c17 -Wall -Wextra -Werror "$source" $(pkg-config --cflags --libs pleat) -o "$name"
done
learns() { # COMMAND...
    runs 0 '' "$@"
    check "$1: it learns" test "$(sed -n 's/^step 200 loss 0[.]\([0-9]\).*/\1/p' out)" -lt 5
}
learns ./own_model saved
check 'it saves' test -s saved/latest
runs 0 '' ./plan gpt2:layers=2,hidden=64,heads=4,vocab=256,seq=32,batch=8 local:2 plan.json
runs 0 '' "$pleat" plan gpt2:layers=2,hidden=64,heads=4,vocab=256,seq=32,batch=8 --devices 2 -o other.json
check 'the same plan as that of the command' cmp -s plan.json other.json
runs 2 '' ./plan gpt3 local:2 plan.json
grep -q "gpt3" err || say_failure 'the error does not name the model'

# -- the archive, and CMake ---------------------------------------------------------------------------------
mkdir -p static && cp "$lib/libpleat.a" static/
# shellcheck disable=SC2046
runs 0 '' "$cc" -std=c17 own_model.c $(pkg-config --cflags pleat) static/libpleat.a \
    $(pkg-config --libs --static pleat | sed 's/-L[^ ]* -lpleat//') -o own_static
learns ./own_static saved2
mkdir -p project
cat > project/CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES C)
find_package(pleat REQUIRED)
add_executable(outside ../own_model.c)
target_link_libraries(outside PRIVATE pleat::pleat)
END
runs 0 '' cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$PWD/tree" -DCMAKE_C_COMPILER="$cc"
runs 0 '' cmake --build project/build
learns project/build/outside saved3

# -- what the library shows is what the header declares ------------------------------------------------------
nm -D --defined-only "$lib/libpleat.so" | sed -n 's/.* [TDBR] //p' | sort > shown
tr '\n' ' ' < tree/include/pleat.h | grep -oE 'PL_API [^;]*;' | grep -oE '\bpl_[a-z_]+\(' | tr -d '(' | sort -u > declared
check 'the library shows what the header declares' diff declared shown
check 'a manual' test -s tree/share/man/man1/pleat.1
check 'completions' test -s tree/share/bash-completion/completions/pleat
finish
