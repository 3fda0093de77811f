"""Container engines behind one seam: `base.Engine` runs containers, in words of no engine's own."""

from workers.engines.base import Engine
from workers.engines.docker.client import DockerEngine


def engine_for(url: str = "") -> Engine:
    """The engine at an address; without one, where the `docker` command would look.

    Raises
    ------
    SandboxError
        `engine_unreachable`.
    """
    return DockerEngine(url or None)
