"""The compute worker: claims runs, executes them in containers, reports. No Django, no database."""

__version__ = "0.1.0"
