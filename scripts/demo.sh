#!/usr/bin/env bash
# From nothing to a running demo: Python environment, Docker Engine, runtime image, database, then `manage.py demo`.
# The image is built while packages are installed and the database is upgraded. All arguments go to `manage.py demo`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Each demo has data of its own, so that one does not find the people of another.
arguments="$*"
if [[ $arguments == *--content* ]]; then
    demo=${arguments##*--content }
    export PODIUM_DATA_DIR=${PODIUM_DATA_DIR:-var/podium-${demo%% *}}
fi

started=$SECONDS
say() { printf 'demo: [%3d s] %s\n' $((SECONDS - started)) "$*" >&2; }

scripts/system.sh demo
scripts/venv.sh create

say "Docker Engine and runtime image"
.venv/bin/python -m workers.images ensure </dev/null &
images=$!
trap 'kill "$images" 2>/dev/null || true' EXIT

say "Python packages"
scripts/venv.sh web,worker
if kill -0 "$images" 2>/dev/null; then # otherwise `demo` does it in a moment
    say "database, while the image is being made"
    .venv/bin/python manage.py upgrade --verbosity 0 </dev/null
fi

# The site serves the docs once they are there; without them it says so, and all else works.
[[ $arguments == *--check* ]] || (nice -n 10 scripts/docs.sh >&2 || say "the docs could not be built; the reason is above") </dev/null &

wait "$images" || { say "the runtime image could not be made; the reason is above"; exit 1; }
trap - EXIT
say "starting"
exec .venv/bin/python manage.py demo "$@"
