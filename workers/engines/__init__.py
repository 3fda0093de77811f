"""Container engines behind one seam: `base.Engine` runs containers, in words of no engine's own."""

from workers.engines.base import Engine
from workers.engines.docker.client import DockerEngine
from workers.engines.podman.client import PodmanEngine, is_podman


def engine_for(url: str = "") -> Engine:
    """The engine at an address, Docker's or Podman's; without one, where the `docker` command would look.

    Raises `SandboxError` (`engine_unreachable`).
    """
    engine = DockerEngine(url or None)
    if not is_podman(engine.version()):
        return engine
    engine.api.close()
    return PodmanEngine(url or None)
