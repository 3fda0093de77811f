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
        case $output in *"NOT audited"*) printf 'lint: %s: %s\n' "$name" "$output" ;; *) echo "lint: $name: clean" ;; esac
    else
        printf '%s\n' "$output"
        echo "lint: $name: FAILED"
        failed+=("$name")
    fi
}

check ruff "$bin/ruff" check
check format "$bin/ruff" format --check
check mypy "$bin/mypy"
check import-linter env PYTHONPATH=platform:client:. "$bin/lint-imports" --no-cache
check djlint "$bin/djlint" --lint --quiet platform competitions
check migrations "$bin/python" manage.py makemigrations --check --dry-run
check "released migrations" "$bin/python" scripts/checks/released_migrations.py
check "derived files" "$bin/python" manage.py derive --check
check "django check" env DATABASE_URL=postgres://nobody@localhost/none PODIUM_BROKER_URL=redis://localhost \
    PODIUM_SITE_URL=https://example.org PODIUM_ALLOWED_HOSTS=example.org PODIUM_HSTS_PRELOAD=true \
    PODIUM_SECRET_KEY="$("$bin/python" -c 'import secrets; print(secrets.token_urlsafe(48))')" \
    "$bin/python" manage.py check --deploy --fail-level WARNING
check "known vulnerabilities" "$bin/python" scripts/checks/audit_dependencies.py
check docs scripts/docs.sh
check words "$bin/python" scripts/checks/words.py
check functions "$bin/python" scripts/checks/function_lengths.py competitions platform client files workers scoring examples scripts tests
check "switched off" "$bin/python" scripts/checks/switched_off.py
check "shell syntax" bash -n scripts/*.sh workers/*.sh .ci/run

[ ${#failed[@]} -eq 0 ] || { echo "lint: failed: ${failed[*]}"; exit 1; }
