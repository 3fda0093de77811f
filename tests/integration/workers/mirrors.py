"""A package mirror and a registry in threads of the test: real HTTP with chosen bytes."""

from __future__ import annotations

import base64
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What registries answer for a digest that they do not have.
UNKNOWN = b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}'


def wheel_bytes(
    name: str,
    version: str = "1.0",
    *,
    tag: str = "py3-none-any",
    requires: str = "",
    padding: int = 0,
    modules: int = 0,
    more: Mapping[str, bytes] | None = None,
) -> tuple[str, bytes]:
    """A small right wheel, and its file name.

    `padding` are bytes of a data file that do not compress; pip takes a while for many `modules`; `more` are further files by path.
    """
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VALUE = {version!r}\n".encode(),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
        + (f"Requires-Dist: {requires}\n".encode() if requires else b""),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
    }
    files |= more or {}
    files |= {f"{name}_more/module{number}.py": b"VALUE = 1\n" for number in range(modules)}
    if padding:
        files[f"{name}_data.bin"] = hashlib.shake_128(name.encode()).digest(padding)
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},{len(content)}\n"
        for path, content in files.items()
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in (files | {f"{info}/RECORD": f"{record}{info}/RECORD,,\n".encode()}).items():
            archive.writestr(zipfile.ZipInfo(path, (2030, 1, 1, 0, 0, 0)), content)
    return f"{name}-{version}-{tag}.whl", packed.getvalue()


def lock_line(name: str, content: bytes, version: str = "1.0") -> str:
    """A line of a lock file."""
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(content).hexdigest()}\n"


@contextmanager
def serving(
    pages: Mapping[str, bytes], types: Mapping[str, str] | None = None, silent: threading.Event | None = None
) -> Iterator[str]:
    """Serve these pages by path; yields the address. With `silent`, answers wait until it is set."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the library's name
            if silent is not None:
                silent.wait(60)
                return
            content = pages.get(self.path, UNKNOWN)
            self.send_response(404 if content is UNKNOWN else 200)
            kind = "application/json" if content is UNKNOWN else "text/html"
            self.send_header("Content-Type", (types or {}).get(self.path, kind))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815  # the library's name

        def log_message(self, *_: object) -> None:
            """Tests read what a job says."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        if silent is not None:
            silent.set()
        server.shutdown()
        server.server_close()
        thread.join()


def index_pages(files: Mapping[str, bytes], *, hashes: bool = True, elsewhere: str = "") -> dict[str, bytes]:
    """The pages of a simple index with these files, by path below the server's root."""
    pages = {f"/files/{name}": content for name, content in files.items()}
    projects: dict[str, list[str]] = {}
    for name, content in files.items():
        fragment = f"#sha256={hashlib.sha256(content).hexdigest()}" if hashes else ""
        link = f'<a href="{elsewhere or "../../files"}/{name}{fragment}">{name}</a>'
        projects.setdefault(name.split("-")[0].replace("_", "-"), []).append(link)
    return pages | {f"/simple/{project}/": "\n".join(links).encode() for project, links in projects.items()}
