#!/bin/sh
# torchrec_step.py, from the top of the tree, in a virtual environment of its own: FBGEMM 1.9 is for
# PyTorch 2.14. TorchRec's package names FBGEMM's CUDA build as a requirement, which lies in the
# same folder as the CPU build, so TorchRec comes without its requirements, and those by name.
#   BENCH_TORCHREC_ENV   where; default build/bench-torchrec
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
export BENCH_ENV="${BENCH_TORCHREC_ENV:-$PWD/build/bench-torchrec}"
export BENCH_TORCH="torch==2.14.1"
export BENCH_MORE="fbgemm-gpu-cpu==1.9.0 tensordict torchmetrics==1.0.3 tqdm pyre-extensions"
python=$("$here/setup.sh")
"$python" -m pip show --quiet torchrec 2>/dev/null ||
    "$python" -m pip install --quiet --no-deps torchrec==1.9.2 >&2
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$here/torchrec_step.py" "$@"
