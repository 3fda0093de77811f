"""Datasets are submitted, algorithms are judged: a transposed benchmark with a dashboard of its own."""
