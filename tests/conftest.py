"""Fixtures of all tests: real services, started once per run; no connection leaves this machine."""

from __future__ import annotations

import gc
import ipaddress
import os
import socket
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests import frames, migrated, services, soak

ON_POSTGRES = ("client", "integration", "hostile", "deployment", "browser", "benchmarks")
TESTS = Path(__file__).resolve().parent
# Nothing of hypothesis looks at a clock: how fast a busy machine draws examples says nothing of what is tested.
hypothesis.settings.register_profile(
    "podium", max_examples=soak.examples(100), deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
hypothesis.settings.load_profile("podium")


def pytest_configure(config: pytest.Config) -> None:
    """Make the run's folder before pytest-xdist starts its processes: they inherit its name."""
    # The driver's wheel has an OpenSSL beside Python's, and crashed once as two threads connected; nothing here is encrypted.
    os.environ.setdefault("PGSSLMODE", "disable")
    gc.set_threshold(100_000, 50, 50)  # as Python sets it, the collector takes 7 % of the functional tests' time
    services.run_folder()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the services at the end, in the process that owns them."""
    if services.is_owner():
        services.Services(services.run_folder()).stop()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Call each test from a frame with room for its calls."""
    if isinstance(item, pytest.Function):
        item.obj = frames.with_room(item.obj)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave to the collector of garbage what the tests make: what is imported by now stays."""
    gc.freeze()


@pytest.fixture(scope="session")
def real() -> services.Services:
    """The run's services, none of which is started before it is asked for."""
    return services.Services(services.run_folder())


@pytest.fixture(scope="session")
def postgres_url(real: services.Services) -> str:
    """URL of a running PostgreSQL server."""
    return real.postgres()


@pytest.fixture(scope="session")
def redis_url(real: services.Services) -> str:
    """URL of a running Redis."""
    return real.redis()


@pytest.fixture(scope="session")
def docker_engine(real: services.Services) -> None:
    """A Docker Engine answers."""
    real.docker()


@pytest.fixture(scope="session")
def runtime_image(real: services.Services) -> str:
    """Tag of the runtime image, up to date."""
    return real.runtime_image()


@pytest.fixture(scope="session")
def chromium() -> str | None:
    """See `services.chromium`."""
    return services.chromium()


@pytest.fixture
def free_port() -> int:
    """A free TCP port on 127.0.0.1."""
    return services.free_port()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(request: pytest.FixtureRequest) -> None:
    """PostgreSQL as soon as one collected test runs on real parts; otherwise SQLite in memory."""
    if any(_wants_postgres(item) for item in request.session.items):
        url = request.getfixturevalue("postgres_url")
        template = migrated.postgres_template(url)
        # As in production: a new connection costs ten times what most requests do.
        use_database(url, ENGINE="tests.postgres", CONN_MAX_AGE=600, TEST={"TEMPLATE": template})
    request.getfixturevalue("django_db_modify_db_settings_parallel_suffix")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    """Empty tables after a test that commits without writing permissions anew: Podium reads none."""
    from django.contrib.contenttypes.management import create_contenttypes
    from django.contrib.contenttypes.models import ContentType
    from django.db.models.signals import post_migrate

    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    post_migrate.disconnect(create_contenttypes)
    post_migrate.connect(lambda **_: ContentType.objects.clear_cache(), weak=False)


def _wants_postgres(item: pytest.Item) -> bool:
    return item.path.is_relative_to(TESTS) and item.path.relative_to(TESTS).parts[0] in ON_POSTGRES


def use_broker(url: str) -> None:
    """Send messages to this broker from now on; connections to the one before are forgotten."""
    from core.celery import app, broker_config

    app.close()
    app.__dict__.pop("amqp", None)  # it keeps a pool of producers
    app.conf.update({"broker_transport": None} | broker_config(url))


def use_database(url: str, **more: Any) -> None:
    """Point Django's default connection at another database; the handler keeps its dictionary."""
    import environ
    from django.conf import settings
    from django.db import connections

    connections.close_all()
    database = settings.DATABASES["default"]
    database.clear()
    database.update(environ.Env.db_url_config(url))
    database["OPTIONS"] = dict(settings.POSTGRES_OPTIONS)  # as in production
    database.update(more)
    connections.configure_settings(settings.DATABASES)
    if hasattr(connections._connections, "default"):  # type: ignore[attr-defined]
        del connections["default"]


@pytest.fixture(autouse=True)
def _stay_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections to other hosts: a test that needs the internet is broken on the next machine."""
    connect = socket.socket.connect

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and not _is_local(str(address[0])):
            raise RuntimeError(f"a test tried to connect to {address}: only this machine may be reached")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)


def _is_local(host: str) -> bool:
    return host == "localhost" or ipaddress.ip_address(host).is_loopback
