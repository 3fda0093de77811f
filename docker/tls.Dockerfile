# Caddy from Debian's own packages: TLS for the stack, with certificates that it gets and renews by itself.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install caddy ca-certificates \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* \
 && install -d -o caddy -g caddy -m 700 /var/lib/caddy/data /var/lib/caddy/config
COPY Caddyfile /etc/caddy/Caddyfile
ENV XDG_DATA_HOME=/var/lib/caddy/data XDG_CONFIG_HOME=/var/lib/caddy/config
USER caddy
EXPOSE 8080 8443
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile"]
