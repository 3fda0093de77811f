"""Scores one uploaded table by the metrics that metric.json names."""

import sys

from scoring.program import main

if __name__ == "__main__":
    sys.exit(main())
