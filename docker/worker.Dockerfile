# The compute worker. It drives the host's Docker Engine through its socket: see docker-compose.yml for the mounts.
ARG BASE=debian:bookworm-slim

# Down to the list of packages this is as in site.Dockerfile, word for word, so that its layers are made once for both images.
FROM ${BASE} AS python
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install python3 ca-certificates \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

FROM python AS tools
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && python3 -m venv /opt/podium
COPY docker/wheels/ /wheels/

# Name, version and commands of the distribution, as an installation has them; its code is copied below.
FROM tools AS project
COPY pyproject.toml README.md LICENSE /project/
RUN if ls /wheels/*.whl >/dev/null 2>&1; then set -- --no-index --find-links=/wheels; else set --; fi \
 && PIP="/opt/podium/bin/pip --quiet --no-cache-dir --disable-pip-version-check" \
 && $PIP install --no-compile "$@" "setuptools>=77" \
 && $PIP wheel --no-deps --no-build-isolation --wheel-dir=/distribution /project

# A stage of its own, so that packages are installed again only when their list changes, not with every other setting.
FROM tools AS list
COPY pyproject.toml /build/
COPY scripts/requirements.py /build/scripts/
RUN python3 /build/scripts/requirements.py worker > /requirements.txt

# From docker/wheels alone when there is something in it, else from the package index. The packages' own tests, a fifth of them, are not compiled.
FROM tools AS packages
COPY constraints.txt /
COPY --from=list /requirements.txt /
RUN if ls /wheels/*.whl >/dev/null 2>&1; then set -- --no-index --find-links=/wheels; else set --; fi \
 && /opt/podium/bin/pip install --no-compile --quiet --no-cache-dir --disable-pip-version-check "$@" -c /constraints.txt -r /requirements.txt \
 || { echo "The package index cannot be reached from this build. Run make wheels, which asks with the host's pip, and build again." >&2; exit 1; } \
 && /opt/podium/bin/python -m compileall -q -x /tests/ /opt/podium/lib
COPY --from=project /distribution /distribution
RUN PIP="/opt/podium/bin/pip --quiet --disable-pip-version-check" \
 && $PIP install --no-index --no-deps /distribution/*.whl \
 && $PIP uninstall --yes setuptools

FROM python
# e2fsprogs and mount: outputs lie on file systems of fixed size. Most bases have them.
RUN { command -v mkfs.ext4 && command -v mount; } >/dev/null \
 || { apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install e2fsprogs mount \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*; }
COPY --from=packages /opt/podium /opt/podium
WORKDIR /srv/podium
COPY workers/ workers/
RUN python3 -m compileall -q workers
ENV PATH=/opt/podium/bin:$PATH PYTHONPATH=/srv/podium PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY docker/worker-entry.sh /usr/local/bin/worker-entry
ENTRYPOINT ["worker-entry"]
CMD ["run"]
