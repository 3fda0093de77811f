"""The program `podium`: `score` files, check `bundle`s, `verify` revealed boards, describe an `image`; else it is `manage.py`."""

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["score"]:
        from scoring.cli import main as score  # without Django: `podium score check` answers at once

        return score(arguments[1:], prog="podium score")
    if arguments[:1] == ["bundle"]:
        from competitions.bundles.cli import main as bundle  # without Django too: it needs no site

        return bundle(arguments[1:], prog="podium bundle")
    if arguments[:1] == ["verify"]:
        # Plain Python: it works offline, without a site.
        from competitions.leaderboards.commitment.manifest import main as verify

        return verify(arguments[1:])
    if arguments[:1] == ["image"]:
        from workers.protocol.runtimes import main as image  # without Django: what the images hold is written down

        return image(arguments[1:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(["podium", *arguments])
    return 0
