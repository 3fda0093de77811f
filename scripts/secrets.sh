#!/usr/bin/env bash
# Makes the secrets that docker-compose.yml mounts, each in a file that its owner alone can read. Existing ones stay.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

umask 077
mkdir -p secrets
random() { python3 -c 'import secrets; print(secrets.token_urlsafe(36), end="")'; }
keep() { # NAME VALUE: a value that is there is never replaced
    [ -s "secrets/$1" ] && return
    printf '%s' "$2" >"secrets/$1"
    echo "secrets: made secrets/$1" >&2
}
