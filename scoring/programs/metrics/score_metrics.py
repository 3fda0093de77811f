"""Scores one uploaded array per split (y_pred_<split>.npz) by the metrics that reference.json names."""

import sys

from scoring.program import main

if __name__ == "__main__":
    sys.exit(main())
