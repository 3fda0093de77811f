#!/usr/bin/env bash
# Prepares this machine, runs the suites of Podium and ends with one line for each; exit status 1 when one of them failed.
#
#   scripts/test.sh                  lint unit functional integration client deployment hostile faults cluster browser
#   scripts/test.sh SUITE...         some of them
#
# Four suites run side by side, and one that computes beside them; PODIUM_SUITES_AT_ONCE=1 runs them one after the other (scripts/suites.py).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

suites=("$@")
[ $# -gt 0 ] || suites=(lint unit functional integration client deployment hostile faults cluster browser)
for suite in "${suites[@]}"; do
    case $suite in
    lint | unit | functional | integration | client | deployment | hostile | faults | cluster | browser) ;;
    *) echo "test: no suite is called $suite; there are lint, unit, functional, integration, client, deployment, hostile, faults, cluster and browser" >&2; exit 2 ;;
    esac
done

# The runtime image is made while Python packages are installed.
prepare() {
    local needs=demo images=
    [[ " ${suites[*]} " =~ \ (integration|client|deployment|hostile|faults|cluster|browser)\  ]] && needs=test
    scripts/system.sh "$needs" && scripts/venv.sh create || return
    if [ "$needs" = test ]; then
        .venv/bin/python -m workers.images ensure </dev/null &
        images=$!
        trap 'kill "$images" 2>/dev/null' EXIT
    fi
    scripts/venv.sh dev || return
    if [ -n "$images" ]; then wait "$images" || return; fi
    trap - EXIT
    if [[ " ${suites[*]} " == *" browser "* ]] && ! command -v chromium-headless-shell chromium google-chrome >/dev/null; then
        .venv/bin/python -m playwright install --with-deps chromium </dev/null
    fi
}

started=$SECONDS
prepare || { echo "test: this machine could not be prepared; the reason is above" >&2; exit 1; }
echo "test: prepared in $((SECONDS - started)) s"
exec .venv/bin/python scripts/suites.py "${suites[@]}"
