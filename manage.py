#!/usr/bin/env python
"""Django's command line, with `platform/` on the path."""

import os
import sys
from pathlib import Path

# `platform/` is a folder, not a package: with an __init__.py it would shadow the standard library's module.
sys.path.insert(0, str(Path(__file__).resolve().parent / "platform"))


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
