# Redis from Debian's own packages. It carries wake-up calls and the cache, nothing that must outlive it.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install redis-server \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*
COPY redis-entry.sh /usr/local/bin/redis-entry
USER redis
EXPOSE 6379
ENTRYPOINT ["redis-entry"]
