#!/usr/bin/env bash
# Prepares this host for docker-compose.yml: the images it builds upon, and the compute worker's folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${PODIUM_WORKER_FOLDER:-/var/lib/podium-worker}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif sudo -n true 2>/dev/null; then sudo -n "$@"
    else echo "production: root is needed for: $*" >&2; exit 1
    fi
}

.venv/bin/python -m workers.images ensure
as_root mkdir -p "$folder"
# Output file systems that the worker mounts in its container must be seen by the engine outside: that takes a shared
# mount. systemd makes / one; elsewhere the folder becomes one by itself, until the next restart of the host.
case $(findmnt --noheadings --output PROPAGATION --target "$folder") in
*shared*) ;;
*)
    as_root mount --bind "$folder" "$folder"
    as_root mount --make-rshared "$folder"
    ;;
esac
