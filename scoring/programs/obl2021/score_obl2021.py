"""Scores the official files of obl2021; the reference folder says which splits."""

import sys

from scoring.program import main

if __name__ == "__main__":
    sys.exit(main())
