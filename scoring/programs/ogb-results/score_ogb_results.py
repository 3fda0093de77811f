"""Scores self-computed OGB results of several seeds (results_<dataset>.json): mean and standard deviation."""

import sys

from scoring.program import main_results

if __name__ == "__main__":
    sys.exit(main_results())
