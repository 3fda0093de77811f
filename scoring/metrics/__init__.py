"""Metrics, each in the arithmetic of its official evaluator."""
