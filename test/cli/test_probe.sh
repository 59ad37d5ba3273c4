# What pleat probe measures and writes: its structure, never a time.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/helpers.sh"
rm -rf files
mkdir files

probe=("$pleat" probe --quick --threads 1)
says() { grep -qE -- "$1" out || say_failure "no line like '$1' on stdout"; }
holds() { grep -qE -- "$2" "$1" || say_failure "no line like '$2' in $1"; }

# -- two threads ------------------------------------------------------------------------------------------
runs 0 'wrote files/two.yaml' "${probe[@]}" --devices 2 -o files/two.yaml
says '^2 devices of 1 thread, .*B each; [0-9]+ cores? usable'
for type in f32 bf16; do says "^matmul +$type +128 +[0-9.]+ [um]s +[0-9.]+ [MGT]FLOP/s .* [a-z]+/[a-z0-9_]+( bf16)?$"; done
says '^copy +f32 '
says '^add +f32 '
says '^cores +1.0 KiB +[0-9.]+ [um]s '
says '^cores +16.0 MiB +[0-9.]+ [um]s '
for kind in all-reduce all-gather reduce-scatter all-to-all; do says "^$kind +[0-9.]+ [KM]iB +[0-9.]+ [um]s +[0-9.]+ [um]s$"; done
says '^[0-9]+ % of the time of messages is hidden'
check 'no file but the one that was asked for' test "$(ls -A files)" = two.yaml

holds files/two.yaml '^schema: pleat.cluster/1$'
holds files/two.yaml '^name: "2 threads, probed"$'
for key in memory f32_flops bf16_flops memory_bandwidth matmul_efficiency stream_efficiency conv_efficiency vector_flops \
    kernel_start memory_exposed; do
    holds files/two.yaml "^    $key: \{value: [0-9.]+( [A-Za-z/]+)?, source: .+\}$"
done
holds files/two.yaml '^  - name: cores$'
holds files/two.yaml '^    size: 2$'
check 'a curve of 8 points' test "$(grep -cE '^        - \[[0-9.]+ [KM]iB, [0-9.]+ [num]?s\]$' files/two.yaml)" = 8
holds files/two.yaml '^    start: '
holds files/two.yaml '^    overlap: '
holds files/two.yaml '^  - \{class: cpu, count: 2\}$'

# -- one has nobody to talk to; its level is the guess of local:1 -----------------------------------------
runs 0 'wrote files/one.yaml' "${probe[@]}" --devices 1 --out files/one.yaml
says '^one device: no messages$'
holds files/one.yaml '^    latency: \{value: [^,]*, source: guess'
holds files/one.yaml '^  - \{class: cpu, count: 1\}$'

# -- JSON, more ranks than cores, no file -----------------------------------------------------------------
runs 0 '' "${probe[@]}" --devices 3 --json
check 'nothing on stderr' test ! -s err
check 'one line' test "$(wc -l < out)" = 1
says '"schema": "pleat.probe/1", "devices": 3, "threads": 1'
if command -v python3 > /dev/null; then
    python3 - << 'END' || say_failure 'the JSON is not what it should be'
import json
p = json.load(open("out"))
assert all(x > 0 for k, x in p["device"].items() if k != "memory_exposed"), p["device"]
assert all(0 <= p["device"][k] <= 1 for k in ("matmul_efficiency", "stream_efficiency", "conv_efficiency", "memory_exposed"))
assert 0 <= p["overlap"] <= 1
assert {(k["what"], k["type"]) for k in p["kernels"]} >= {("matmul", "f32"), ("matmul", "bf16"), ("copy", "f32"), ("add", "f32"), ("gelu", "f32"), ("layer", "f32"), ("conv", "f32")}
assert all(k["seconds"] > 0 for k in p["kernels"])
level, = p["levels"]
assert level["name"] == "cores" and level["size"] == 3 and level["seconds_per_byte"] >= 0  # 0: lost in the noise of three ranks on two cores
assert [m["bytes"] for m in level["messages"]] == [1024 * 4 ** i for i in range(8)]
assert all(m["seconds"] > 0 for m in level["messages"])
assert len(p["collectives"]) == 8 and all(c["seconds"] > 0 and c["predicted_seconds"] > 0 for c in p["collectives"])
END
else
    skip 'JSON is not looked into: there is no python3'
fi

# -- processes --------------------------------------------------------------------------------------------
if "$pleat" doctor | grep -q '^MPI *built in' && command -v mpirun > /dev/null; then
    runs 0 'wrote files/mpi.yaml' mpirun -n 2 "${probe[@]}" -o files/mpi.yaml
    check 'one of them prints' test "$(grep -c '^2 devices' out)" = 1
    holds files/mpi.yaml '^name: "2 processes, probed"$'
    holds files/mpi.yaml '^  - name: cores$'
    refuses 2 'the launcher started 2 ranks' mpirun -n 2 "${probe[@]}" --devices 3
else
    skip 'no MPI'
fi

# -- mistakes, before anything is measured ----------------------------------------------------------------
refuses 3 "files/none/x.yaml: cannot be written: folder 'files/none': No such file" "${probe[@]}" -o files/none/x.yaml
refuses 3 'names no file' "${probe[@]}" -o files/
refuses 2 '--out needs a value' "${probe[@]}" -o
refuses 2 '--devices: 0 is below 1' "${probe[@]}" --devices 0
refuses 2 'at most 256 in one process' "${probe[@]}" --devices 257
refuses 2 "unexpected 'x'" "${probe[@]}" x
finish
