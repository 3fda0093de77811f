"""The database's tables against this version: an upgrade starts from what it knows, or not at all."""

from importlib.metadata import version
from typing import Final

from django.apps import apps
from django.contrib.postgres.operations import CreateExtension
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState
from django.db.models import Model

WAY_OUT: Final = "Start the version that wrote it, or restore a backup that {this} made into an empty database."


class UnknownSchema(Exception):
    """A database that this version cannot upgrade; the message says why, and what to do."""


def upgrade_database(*, verbosity: int = 0) -> None:
    """Bring the tables to this version; safe to run again. Raises `UnknownSchema`.

    Migrations that this version lacks are found before anything is changed. Tables that differ from the models afterwards were made by
    code that was never released. An empty database gets the tables of the models: migrations lead to the same in ten times as long.
    """
    _require_known_migrations()
    if not connection.introspection.table_names():
        _make_tables()
    call_command("migrate", interactive=False, verbosity=verbosity)
    _require_columns_of_models()


def _require_known_migrations() -> None:
    loader = MigrationLoader(connection)
    own = {config.label for config in apps.get_app_configs()}
    unknown = sorted(
        f"{app}.{name}" for app, name in set(loader.applied_migrations) - set(loader.disk_migrations) if app in own
    )
    if unknown:
        listed = ", ".join(unknown[:5]) + (f" and {len(unknown) - 5} more" if len(unknown) > 5 else "")
        raise UnknownSchema(
            f"This database has migrations that {_this()} does not know ({listed}): a newer version wrote it, or one that was never "
            f"released. Nothing was changed. {WAY_OUT.format(this=_this())}"
        )


def _make_tables() -> None:
    """All of them in one transaction, and every migration noted as applied.

    So no migration may write rows that a new site needs.
    """
    migrations, empty = MigrationLoader(connection).disk_migrations, ProjectState()
    models: list[type[Model]] = [*apps.get_models(), MigrationRecorder.Migration]
    with connection.schema_editor() as editor:
        for (app, _), migration in migrations.items():
            for operation in migration.operations:
                if isinstance(operation, CreateExtension):
                    operation.database_forwards(app, editor, empty, empty)
        for model in models:
            if model._meta.can_migrate(connection):
                editor.create_model(model)
        notes = [MigrationRecorder.Migration(app=app, name=name) for app, name in migrations]
        MigrationRecorder.Migration.objects.bulk_create(notes)


def _require_columns_of_models() -> None:
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            if not model._meta.managed or model._meta.proxy:
                continue
            table = model._meta.db_table
            stored = {column.name for column in connection.introspection.get_table_description(cursor, table)}
            expected = {str(field.column) for field in model._meta.local_concrete_fields}
            if stored != expected:
                columns = ", ".join(sorted(stored ^ expected))
                raise UnknownSchema(
                    f"The table {table} differs from that of {_this()} in {columns}: a version that was never released made it. "
                    f"{WAY_OUT.format(this=_this())}"
                )


def _this() -> str:
    return f"Podium {version('podium')}"
