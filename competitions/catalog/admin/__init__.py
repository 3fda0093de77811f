"""Admin pages of competitions and tasks. Importing the modules registers them."""

from competitions.catalog.admin import competitions, sealed_uses, tasks

__all__ = ["competitions", "sealed_uses", "tasks"]
