#!/usr/bin/env bash
# Prepares .venv. A stamp remembers what was installed from which list, so that a second run costs milliseconds.
#
#   scripts/venv.sh python         print the Python that the environment is, or would be, made with
#   scripts/venv.sh create         an environment with pip alone
#   scripts/venv.sh EXTRAS         with the extras of pyproject.toml, for instance `web,worker` or `dev`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The distribution's own comes first: it was built with profile-guided optimization, and pages take a sixth less time
# than with one that somebody compiled in a hurry. PODIUM_PYTHON names another.
find_python() {
    local name
    for name in ${PODIUM_PYTHON:-/usr/bin/python3} python3 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    echo "venv: no Python 3.11 or newer with the module venv; \`make system\` installs one." >&2
    return 1
}

create() {
    [ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1 && return
    echo "venv: making .venv" >&2
    "$(find_python)" -m venv .venv
}

# What decides the content: dependencies and versions; the settings of tools below them do not.
wanted() { { sed '/^\[tool\.pytest/,$d' pyproject.toml; cat client/pyproject.toml constraints.txt; readlink -f .venv/bin/python; } | sha256sum; }

is_installed() {
    local stamp
    for stamp in ".venv/.installed-$1" .venv/.installed-dev; do # dev has all the others in it
        [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(wanted)" ] && return 0
    done
    return 1
}

# The site runs from the checkout; with this `podium bundle` and `podium verify` find their parts from any folder.
# It is written in one piece, and only when it differs: programs that start meanwhile read it.
link() {
    local folder wanted="$PWD"$'\n'"$PWD/platform"
    for folder in .venv/lib/python3*/site-packages; do
        [ "$(cat "$folder/podium.pth" 2>/dev/null)" = "$wanted" ] && continue
        printf '%s\n' "$wanted" >"$folder/podium.pth.new"
        mv "$folder/podium.pth.new" "$folder/podium.pth"
    done
}

# uv needs a sixth of pip's time. It does not know pip's settings: where these name an index, or uv cannot be had, pip installs.
# The build of an editable package warns about folders named like it; here they are the package.
install() {
    local pip=(.venv/bin/python -m pip) quiet=(--quiet --disable-pip-version-check --no-input --no-compile)
    if ! "${pip[@]}" config list | grep -q '\.index-url=' && "${pip[@]}" install "${quiet[@]}" -c constraints.txt uv; then
        .venv/bin/uv pip install --quiet --python .venv/bin/python "$@" && return
    fi
    # What is never imported need not be compiled.
    PYTHONWARNINGS=ignore "${pip[@]}" install "${quiet[@]}" "$@"
}

case "${1:?what to do: python, create or the names of extras}" in
python) find_python ;;
create) create ;;
*)
    if is_installed "$1"; then link && exit 0; fi
    create
    link
    is_installed "$1" && exit 0
    echo "venv: installing the packages of [$1]" >&2
    install -c constraints.txt -e ".[$1]" -e ./client
    wanted >".venv/.installed-$1"
    ;;
esac
