# Debian with Python and the scientific packages: the slow part, rebuilt only when requirements.txt or this file changes.
# site-packages/ is filled by `python -m workers.images` on the host with the host's own pip settings, so that
# no index address and no pip is left in the image.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install python3 libxrender1 libxext6 libexpat1 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* \
 && ln -s /usr/bin/python3 /usr/local/bin/python \
 && groupadd --gid 10001 runner \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin runner
COPY site-packages/ /usr/local/lib/python3.11/dist-packages/
# Compiled here, once: the root file system is read-only when a submission runs. A third of it is the packages' own tests.
RUN python3 -m compileall -q -j 0 -x '/tests/' /usr/local/lib/python3.11/dist-packages
