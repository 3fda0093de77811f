"""The records of a run: logs, budgets, messages about faults, and how long what is kept stays."""
