"""Intervals, ranges of ranks and tiers of a board, made in the background from its replicates."""
