"""Starts the program `podium`. It loads nothing before an interrupt can be caught: Ctrl-C ends it without a traceback."""


def main() -> int:
    """Run the program; returns its exit status."""
    try:
        from podium.cli import main as run

        return run()
    except KeyboardInterrupt:
        return 130  # as shells say it
