"""Datasets of public benchmarks: their descriptions, and official evaluators rebuilt to the last digit."""
