"""The admin's pages of hosting: phases, by the form of the workspace, and requests to host. Importing the modules registers them."""

from competitions.organize.admin import hosts, phases

__all__ = ["hosts", "phases"]
