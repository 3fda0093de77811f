#!/usr/bin/env bash
# All checks that read the code without running it. Every one runs, also after one has failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=.venv/bin
failed=()
check() { # NAME COMMAND...
    local name=$1 output
    shift
    if output=$("$@" 2>&1 </dev/null); then
        echo "lint: $name: clean"
    else
        printf '%s\n' "$output"
        echo "lint: $name: FAILED"
        failed+=("$name")
    fi
}

check ruff "$bin/ruff" check
check mypy "$bin/mypy"
check import-linter env PYTHONPATH=platform:. "$bin/lint-imports" --no-cache
check djlint "$bin/djlint" --lint --quiet platform competitions
check migrations "$bin/python" manage.py makemigrations --check --dry-run
check "django check" "$bin/python" manage.py check --fail-level WARNING
check functions "$bin/python" scripts/function_lengths.py competitions platform workers scoring examples scripts tests
check "shell syntax" bash -n scripts/*.sh workers/*.sh .ci/run

[ ${#failed[@]} -eq 0 ] || { echo "lint: failed: ${failed[*]}"; exit 1; }
