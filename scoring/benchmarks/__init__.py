"""Datasets of public benchmarks, and their official evaluators rebuilt to the last digit."""
