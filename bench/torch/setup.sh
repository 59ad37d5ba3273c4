#!/bin/sh
# Make the virtual environment that the comparisons run in: PyTorch and safetensors at their newest
# releases. Says the interpreter to use on stdout. Done once; later calls only print it.
#   BENCH_ENV     where; default build/bench-torch
#   BENCH_TORCH   what pip installs; default torch, or e.g. torch==2.15.0
#   BENCH_MORE    further packages, separated by blanks
# PyTorch's default Linux wheel is the CUDA build, and its library does not load without the CUDA
# libraries it names: 5.4 GB installed, minutes to download. Where your index offers a CPU build, set
# pip's own PIP_INDEX_URL or PIP_EXTRA_INDEX_URL to it.
set -eu
env=${BENCH_ENV:-$(cd "$(dirname "$0")/../.." && pwd)/build/bench-torch}
if [ ! -e "$env/ready" ]; then
    python3 -m venv "$env" >&2
    # shellcheck disable=SC2086 # BENCH_MORE is a list
    "$env/bin/python" -m pip install --quiet --upgrade "${BENCH_TORCH:-torch}" numpy safetensors \
        ${BENCH_MORE:-} >&2
    "$env/bin/python" -c 'import numpy, safetensors.torch, torch' >&2
    touch "$env/ready"
fi
echo "$env/bin/python"
