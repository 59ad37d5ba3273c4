#!/bin/sh
# dlrm.py in the virtual environment of setup.sh, from the top of the tree; dlrm.sh --help says more.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/setup.sh")
cd "$here/../.."
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$here/dlrm.py" "$@"
