"""The records of a run: logs, receipts, and how long they are kept."""
