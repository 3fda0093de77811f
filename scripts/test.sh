#!/usr/bin/env bash
# Runs the suites of Podium in turn and ends with one line for each; exit status 1 when one of them failed.
#
#   scripts/test.sh                  lint unit integration hostile faults browser
#   scripts/test.sh SUITE...         some of them
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

suites=("$@")
[ $# -gt 0 ] || suites=(lint unit integration hostile faults browser)
for suite in "${suites[@]}"; do
    case $suite in
    lint | unit | integration | hostile | faults | browser) ;;
    *) echo "test: no suite is called $suite; there are lint, unit, integration, hostile, faults and browser" >&2; exit 2 ;;
    esac
done
processes=${PYTEST_PROCESSES:-2}
summary=()
failed=0

prepare() {
    local needs=demo
    [[ " ${suites[*]} " =~ \ (integration|hostile|faults|browser)\  ]] && needs=test
    scripts/system.sh "$needs" && scripts/venv.sh dev || return
    [ "$needs" = demo ] || .venv/bin/python -m workers.images ensure </dev/null || return
    if [[ " ${suites[*]} " == *" browser "* ]] && ! command -v chromium google-chrome >/dev/null; then
        .venv/bin/python -m playwright install --with-deps chromium </dev/null
    fi
}

run_pytest() { .venv/bin/python -m pytest -q --durations=5 "$@" </dev/null; }

# Programs that run in containers are left out of the doctests: they import what lies beside them there.
run_doctests() {
    local programs=()
    for program in baselines algorithms scoring_program ingestion_program; do programs+=(--ignore-glob="*/$program/*"); done
    run_pytest --doctest-modules scoring examples "${programs[@]}" --ignore-glob='*/baseline*.py'
}

run_suite() {
    case $1 in
    lint) scripts/lint.sh ;;
    unit) run_pytest -n "$processes" tests/unit && run_doctests ;;
    integration | hostile | faults | browser) run_pytest "tests/$1" ;; # one after the other: they share one Docker Engine
    esac
}

prepare || { echo "test: this machine could not be prepared; the reason is above" >&2; exit 1; }
for suite in "${suites[@]}"; do
    printf '\n== %s\n' "$suite"
    started=$SECONDS
    if run_suite "$suite"; then outcome=passed; else outcome=FAILED failed=1; fi
    summary+=("$(printf '%-12s %-7s %4d s' "$suite" "$outcome" $((SECONDS - started)))")
    printf 'test: %s\n' "${summary[-1]}"
done
printf '\n== all suites\n'
printf '%s\n' "${summary[@]}"
exit "$failed"
