#!/bin/sh
# heldout.py in a virtual environment of its own, from the top of the tree; --help says more.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
export BENCH_ENV="${BENCH_ENV:-$PWD/build/bench-onnx}"
export BENCH_MORE="torchvision timm transformers onnx onnxscript"
python=$("$here/setup.sh")
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$here/heldout.py" "$@"
