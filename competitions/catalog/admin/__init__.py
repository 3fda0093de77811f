"""What an organizer defines, in the admin. Importing the modules registers their pages."""

from competitions.catalog.admin import competitions, sealed_uses, tasks

__all__ = ["competitions", "sealed_uses", "tasks"]
