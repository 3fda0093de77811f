#!/usr/bin/env bash
# Fetches the Python packages of the images into docker/wheels/, by this host's pip and its settings.
# Needed only where a `docker build` cannot reach the package index by itself: when the folder has wheels in it,
# the builds install from there and from nowhere else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/venv.sh create
wanted=$(.venv/bin/python scripts/requirements.py web worker docs | cat - constraints.txt scripts/wheels.sh | sha256sum)
[ "$(cat docker/wheels/.fetched 2>/dev/null)" = "$wanted" ] && exit 0
find docker/wheels -name '*.whl' -delete
machine=$(uname -m)
platforms=()
for minor in 17 28 34 35 36; do platforms+=(--platform "manylinux_2_${minor}_$machine"); done # Debian 12 has glibc 2.36
platforms+=(--platform "manylinux2014_$machine" --platform any)
.venv/bin/python scripts/requirements.py web worker docs >docker/wheels/requirements.txt
# The build of the project itself needs setuptools. And pip asks this host's Python which back-ports are needed; Debian 12's 3.11.2 needs one that 3.11.3 and later do not.
printf '%s\n' async-timeout 'setuptools>=77' >>docker/wheels/requirements.txt
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-input --dest docker/wheels -c constraints.txt \
    --only-binary=:all: --implementation cp --python-version 3.11 "${platforms[@]}" -r docker/wheels/requirements.txt
rm docker/wheels/requirements.txt
echo "$wanted" >docker/wheels/.fetched
echo "wheels: $(find docker/wheels -name '*.whl' | wc -l) packages in docker/wheels" >&2
