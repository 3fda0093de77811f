#!/bin/sh
# The password goes in by standard input: an argument could be read by every process of the host.
set -eu
password=$(cat "${REDIS_PASSWORD_FILE:?}")
exec redis-server - <<CONFIG
bind * -::*
protected-mode no
requirepass $password
save ""
appendonly no
maxmemory ${REDIS_MAXMEMORY:-256mb}
maxmemory-policy volatile-lru
CONFIG
