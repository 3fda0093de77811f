#!/bin/sh
# Makes the database on the first start, then becomes the server. A first start that was cut off begins anew.
set -eu
: "${POSTGRES_USER:?}" "${POSTGRES_DB:?}" "${POSTGRES_PASSWORD_FILE:?}"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    fresh=$PGDATA.new
    rm -rf "$fresh"
    initdb --pgdata="$fresh" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --encoding=UTF8 \
        --locale=C.UTF-8 --auth-local=peer --auth-host=scram-sha-256 --data-checksums
    echo 'host all all all scram-sha-256' >>"$fresh/pg_hba.conf"
    echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$fresh" postgres >/dev/null
    mv "$fresh" "$PGDATA"
fi
exec "$@" -c listen_addresses='*'
