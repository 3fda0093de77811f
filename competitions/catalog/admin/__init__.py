"""What an organizer defines, in the admin. Importing the modules registers their pages."""

from competitions.catalog.admin import competitions, phases, tasks

__all__ = ["competitions", "phases", "tasks"]
