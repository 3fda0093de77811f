# nginx from Debian's own packages: it takes requests in before they cost the site a thread.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install nginx \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* \
 && install -d -o www-data -g www-data -m 700 /var/spool/front
COPY docker/front.conf /etc/nginx/nginx.conf
COPY docker/front platform/static/podium/icon.svg platform/static/podium/tokens.css /usr/share/front/
COPY platform/static/podium/fonts/inter.woff2 /usr/share/front/fonts/
USER www-data
EXPOSE 8080
CMD ["nginx", "-e", "stderr", "-g", "daemon off;"]
