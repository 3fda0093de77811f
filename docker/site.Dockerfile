# The site's image: web, reconciler, background processes and preparation, by command.
ARG BASE=debian:bookworm-slim

# Down to the list of packages this is as in worker.Dockerfile, word for word, so that its layers are made once for both images.
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
RUN python3 /build/scripts/requirements.py web > /requirements.txt \
 && python3 /build/scripts/requirements.py docs > /docs-requirements.txt

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

# The docs: those of the host, where `make docs` built them of these very sources, else built here.
FROM packages AS docs
WORKDIR /srv/podium
COPY --from=list /docs-requirements.txt /
COPY SECURITY.md constraints.txt ./
COPY client/podium_program.py client/
COPY client/podium/ client/podium/
COPY docs/ docs/
COPY files/ files/
COPY scoring/ scoring/
COPY workers/__init__.py workers/
COPY workers/protocol/ workers/protocol/
COPY competitions/ competitions/
COPY platform/ platform/
COPY scripts/docs/ scripts/docs/
# The licence is only here because a pattern alone may match nothing.
COPY LICENSE var/doc[s] var/docs/
RUN if ls /wheels/*.whl >/dev/null 2>&1; then set -- --no-index --find-links=/wheels; else set --; fi \
 && export PATH=/opt/podium/bin:$PATH \
 && { python -m scripts.docs --is-current \
    || { pip install --quiet --no-cache-dir --disable-pip-version-check "$@" -c /constraints.txt -r /docs-requirements.txt && python -m scripts.docs; } } \
 && python -m scripts.docs --export /docs

FROM python
RUN groupadd --gid 10000 podium \
 && useradd --uid 10000 --gid 10000 --no-create-home --home-dir /var/lib/podium --shell /usr/sbin/nologin podium \
 && install -d -o podium -g podium -m 750 /var/lib/podium
COPY --from=packages /opt/podium /opt/podium
WORKDIR /srv/podium
COPY manage.py LICENSE ./
COPY docker/gunicorn.conf.py docker/prepare.py docker/
COPY files/ files/
COPY scoring/ scoring/
COPY workers/__init__.py workers/
COPY workers/protocol/ workers/protocol/
COPY competitions/ competitions/
COPY client/podium/SKILL.md client/podium/
COPY platform/ platform/
COPY --from=docs /docs/ var/docs/
ENV PATH=/opt/podium/bin:$PATH PYTHONPATH=/srv/podium:/srv/podium/platform PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=config.settings PODIUM_DATA_DIR=/var/lib/podium PODIUM_STATIC_DIR=/srv/podium/static
# Static files are part of the image; the key that settings need for this one command is made up and thrown away.
RUN python3 -m compileall -q files scoring workers competitions platform \
 && PODIUM_DATA_DIR=/tmp/build python manage.py collectstatic --no-input --verbosity 0 \
 && rm -rf /tmp/build
USER podium
EXPOSE 8000
CMD ["gunicorn", "--config", "docker/gunicorn.conf.py", "config.wsgi"]
