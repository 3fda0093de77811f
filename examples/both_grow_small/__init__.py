"""Algorithms and data sets are both submitted: a board that grows in both directions."""
