#!/usr/bin/env bash
# Prepares this machine, runs the suites of Podium and ends with one line for each; exit status 1 when one of them failed.
#
#   scripts/test.sh                  all of them
#   scripts/test.sh SUITE...         some of them
#
# Four suites run side by side, and one that computes beside them; PODIUM_SUITES_AT_ONCE=1 runs them one after the other (scripts/suites.py).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Python and its packages are enough to begin with; scripts/suites.py prepares the machine for all other suites meanwhile.
started=$SECONDS
scripts/system.sh demo && scripts/venv.sh dev || { echo "test: this machine could not be prepared; the reason is above" >&2; exit 1; }
echo "test: Python is ready after $((SECONDS - started)) s"
exec .venv/bin/python scripts/suites.py "$@"
