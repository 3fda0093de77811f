"""The compute worker: claims runs from the site, executes them in containers, reports the result. No Django, no database."""

__version__ = "0.1.0"
