"""Empties the tables that have rows.

Django truncates all of them, which gives a hundred tables and their indexes new files: half a second of a core, after each test.
"""

from collections.abc import Sequence

from django.core.management.color import Style
from django.db.backends.postgresql import base
from django.db.backends.postgresql.creation import DatabaseCreation as PostgresCreation
from django.db.backends.postgresql.operations import DatabaseOperations as PostgresOperations

# Without triggers: what refers to a row that goes is going, too.
EMPTY = """
DO $$ DECLARE name text; has_rows boolean;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOREACH name IN ARRAY '{{{names}}}'::text[] LOOP
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', name) INTO has_rows;
        IF has_rows THEN EXECUTE format('DELETE FROM %I', name); END IF;
    END LOOP;
END $$;
"""


class DatabaseOperations(PostgresOperations):
    """Django's, with another way to empty tables."""

    def sql_flush(
        self, style: Style, tables: Sequence[str], *, reset_sequences: bool = False, allow_cascade: bool = False
    ) -> list[str]:
        """One statement for all tables where sequences may go on, as they do between tests; else Django's own."""
        if reset_sequences:
            return super().sql_flush(style, tables, reset_sequences=True, allow_cascade=allow_cascade)
        return [EMPTY.format(names=",".join(tables))]


class DatabaseCreation(PostgresCreation):
    """Django's, which also removes a database that a client's thread of the live server still uses."""

    def _destroy_test_db(self, test_database_name: str, verbosity: int) -> None:
        with self._nodb_cursor() as cursor:  # type: ignore[attr-defined]  # absent in the stubs
            cursor.execute(f"DROP DATABASE {self.connection.ops.quote_name(test_database_name)} WITH (FORCE)")


class DatabaseWrapper(base.DatabaseWrapper):
    """The engine."""

    ops_class = DatabaseOperations
    creation_class = DatabaseCreation
