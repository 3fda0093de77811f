#!/usr/bin/env bash
# Runs a command as a user without rights, in this checkout, for tests of an engine without root. Nothing of it is left afterwards
# but that user: its temporary files go with it.
#
#   PODIUM_TEST_ENGINE=podman-rootless scripts/without_root.sh .venv/bin/python -m pytest -q tests/hostile
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

user=podium-rootless
[ "$(id -u)" = 0 ] || exec "$@"
id "$user" >/dev/null 2>&1 || useradd "$user" # and with it the further users that its containers need
setpriv --reuid="$user" --regid="$user" --clear-groups test -r scripts/without_root.sh ||
    { echo "without_root: $PWD must be readable for other users" >&2; exit 1; }

# Images are taken from the machine's own Docker.
groups=$(stat --format=%g /var/run/docker.sock)
# Its path is short: with a longer one, Podman's conmon does not notice the end of a container, and each takes twenty seconds.
folder=$(mktemp --directory /tmp/pXXXXXX)
trap 'rm -rf "$folder"' EXIT
chown "$user:" "$folder"
export HOME=$folder USER=$user TMPDIR=$folder PODIUM_TEST_VAR=$folder/var
setpriv --reuid="$user" --regid="$user" --groups="$groups" --inh-caps=-all -- "$@"
