"""Scores predictions for the hidden test labels of an ogbn or ogbg dataset (y_pred_<dataset>.npz)."""

import sys

from scoring.program import main

if __name__ == "__main__":
    sys.exit(main())
