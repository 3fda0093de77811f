#!/usr/bin/env bash
# Runs one suite on a machine that is prepared; scripts/suites.py calls it, and has their names.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Suites share the cores: a thread of each process that waits for matrices would only take from them.
export OPENBLAS_NUM_THREADS=1

# No cache of pytest's own: suites that run side by side would write the same file.
run_pytest() { .venv/bin/python -m pytest -q -p no:cacheprovider --durations=5 "$@" </dev/null; }

# Unit tests with the doctests: what these need is imported by then. Programs that run in containers are left out: they
# import what lies beside them there.
run_units() {
    local programs=()
    for program in baselines algorithms environments scoring_program ingestion_program; do programs+=(--ignore-glob="examples/*/$program/*"); done
    local site
    mapfile -t site < <(grep -rl --include='*.py' '>>> ' competitions platform files workers client)
    run_pytest "$@" tests/unit tests/contract/stores --doctest-modules scoring examples "${site[@]}" "${programs[@]}" --ignore-glob='examples/*/baseline*.py'
}

case ${1:?which suite} in
lint) exec scripts/lint.sh ;;
# Each of two processes takes one half in order, and then what the other has left: what a file shares is made once.
# Unit and functional tests make their tables in memory, the other suites copy them (tests/migrated.py).
unit) run_units -n "${PYTEST_PROCESSES:-2}" --dist worksteal --no-migrations ;;
functional) run_pytest -n "${PYTEST_PROCESSES:-2}" --dist worksteal --no-migrations tests/functional ;;
# Two processes, which wait most of the time: a file stays with one of them, and what its tests share on the host with it. The demo is among the first.
integration) run_pytest -n "${PYTEST_PROCESSES:-2}" --dist loadfile --no-loadscope-reorder tests/contract/engines tests/integration ;;
client | deployment | hostile | faults | cluster | browser) run_pytest "tests/$1" ;;
*) echo "suite: no suite is called $1" >&2; exit 2 ;;
esac
