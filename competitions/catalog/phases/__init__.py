"""Phases: what may be together, what a change does to teams, and the one place that writes them."""
