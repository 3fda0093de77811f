"""A small image as a team brings it: a shell, `id` and a file with a number, for user root."""

from __future__ import annotations

import io
from pathlib import Path

from docker import APIClient
from tests.integration.workers.harness import BASE

# Whoever brings it reads and hashes all of it, several times: Debian as a whole has thirty times as much.
DOCKERFILE = """
FROM {base} AS full
RUN mkdir -p /small/bin /small/opt && cp /bin/sh /usr/bin/id /small/bin && echo 42.5 > /small/opt/model.txt \\
 && ldd /bin/sh /usr/bin/id | grep -o '/[^ ]*[.]so[^ ]*' | sort -u | xargs cp --parents -Lt /small
FROM scratch
COPY --from=full /small /
LABEL brought.as={tag}
USER root
"""


def save_team_image(docker: APIClient, path: Path, *, tag: str) -> str:
    """Write its `docker save` archive; returns the digest of the image, which the host no longer has then."""
    source = DOCKERFILE.format(base=BASE, tag=tag).encode()
    for line in docker.build(fileobj=io.BytesIO(source), tag=tag, rm=True, network_mode="none", decode=True):
        assert "error" not in line, line
    image_id = str(docker.inspect_image(tag)["Id"])  # type: ignore[no-untyped-call]  # absent in the stubs
    with path.open("wb") as sink:
        sink.writelines(docker.get_image(tag))
    docker.remove_image(tag)
    return image_id
