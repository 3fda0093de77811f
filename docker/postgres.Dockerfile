# PostgreSQL from Debian's own packages, for hosts that can pull nothing. Elsewhere PODIUM_POSTGRES_IMAGE may name
# the official image: the environment variables in docker-compose.yml are those that it reads, too.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN mkdir -p /etc/postgresql-common \
 && echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf \
 && apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install -o Dpkg::Options::=--force-confold \
        postgresql-15 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt \
 && install -d -o postgres -g postgres -m 700 /var/lib/postgresql/data
ENV PATH=/usr/lib/postgresql/15/bin:$PATH PGDATA=/var/lib/postgresql/data/15
COPY postgres-entry.sh /usr/local/bin/postgres-entry
USER postgres
VOLUME /var/lib/postgresql/data
EXPOSE 5432
STOPSIGNAL SIGINT
ENTRYPOINT ["postgres-entry"]
CMD ["postgres"]
