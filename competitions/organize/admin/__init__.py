"""Admin pages of hosting: phases and requests to host. Importing the modules registers them."""

from competitions.organize.admin import hosts, phases

__all__ = ["hosts", "phases"]
