"""Scores the official files of lsc-wikikg90mv2; the reference folder says which splits."""

import sys

from scoring.program import main

if __name__ == "__main__":
    sys.exit(main())
