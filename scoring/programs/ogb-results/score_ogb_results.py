"""Scores OGB results of several seeds (results_<dataset>.json): mean and standard deviation."""

import sys

from scoring.program import main

if __name__ == "__main__":
    sys.exit(main())
