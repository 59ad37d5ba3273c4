#!/bin/sh
# gan_step.py in the virtual environment of setup.sh, from the top of the tree; gan_step.sh --help says more.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/setup.sh")
cd "$here/../.."
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$here/gan_step.py" "$@"
