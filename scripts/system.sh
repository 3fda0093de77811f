#!/usr/bin/env bash
# Installs Debian or Ubuntu packages that are missing; when nothing is missing it costs a few milliseconds.
#
#   scripts/system.sh demo    Python 3.11 or newer with venv
#   scripts/system.sh test    also PostgreSQL, Redis, Chromium, Docker, docker-compose, Slurm with munge and its accounting
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

has() { command -v "$1" >/dev/null 2>&1; }
can_make_venv() { scripts/venv.sh python >/dev/null 2>&1; }

missing=()
if ! can_make_venv; then
    if has python3 && python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then missing+=(python3-venv)
    elif has apt-cache && apt-cache show python3.11 >/dev/null 2>&1; then missing+=(python3.11 python3.11-venv)
    else missing+=(python3 python3-venv)
    fi
fi
if [ "${1:-demo}" = test ]; then
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || has initdb || missing+=(postgresql)
    has redis-server || missing+=(redis-server)
    # Further engines, and what a container of Podman's begins with.
    has podman || missing+=(podman)
    has catatonit || missing+=(catatonit)
    has runc || missing+=(runc)
    has runsc || missing+=(runsc)
    # Podman without root.
    has newuidmap || missing+=(uidmap)
    has slirp4netns || missing+=(slirp4netns)
    has docker || missing+=(docker.io)
    has slurmctld && has slurmd || missing+=(slurm-wlm)
    has munged || missing+=(munge)
    # Slurm's accounting, and the database that it keeps accounts in.
    has slurmdbd || missing+=(slurmdbd)
    has mariadbd || missing+=(mariadb-server-core)
    has my_print_defaults || missing+=(mariadb-client-core)  # which its first start runs
    has docker-compose || docker compose version >/dev/null 2>&1 || missing+=(docker-compose)
    # Without windows to draw, it takes 40 % less of the cores than the package chromium, which on Ubuntu needs a running
    # snapd besides; there, Playwright's own build is used (scripts/test.sh).
    if ! has chromium-headless-shell && ! has google-chrome && grep -qs '^ID=debian' /etc/os-release; then
        missing+=(chromium-headless-shell)
    fi
fi
if [ ${#missing[@]} -gt 0 ]; then
    workers/engine.sh --install "${missing[@]}"
    hash -r
fi
can_make_venv || { echo "system: no Python 3.11 or newer with the module venv; install one, then try again." >&2; exit 1; }
