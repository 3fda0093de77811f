#!/usr/bin/env bash
# Mutates the core (the list is in pyproject.toml) in a copy of the checkout and lists the mutants that no test notices.
#
#   scripts/mutants.sh [NAME...]     names as mutmut prints them, with * for any part
#
# Without names: all of them. docs/testing.md says why a mutant may survive.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=$PWD/.venv/bin/python
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy"
cd "$copy"
"$python" -W ignore -m mutmut run --max-children "${PODIUM_MUTANTS_AT_ONCE:-2}" "$@" >log 2>&1 || {
    tr '\r' '\n' <log | tail -n 40
    exit 1
}
tr '\r' '\n' <log | grep '[0-9]/[0-9]' | tail -n 1
"$python" -W ignore -m mutmut results | grep -v 'not checked' | sed 's/^ *//; s/: .*//' | while read -r name; do
    echo "--- $name"
    "$python" -W ignore -m mutmut show "$name" | grep '^[-+]' | grep -v '^\(---\|+++\)'
done
