"""The start of the program `podium`, which Ctrl-C ends without a traceback at any moment."""


def main() -> int:
    """Run the program; returns its exit status."""
    try:
        from podium.cli import main as run

        return run()
    except KeyboardInterrupt:
        return 130  # as shells say it
