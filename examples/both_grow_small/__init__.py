"""Algorithms and datasets are both submitted: a board that grows in both directions."""
