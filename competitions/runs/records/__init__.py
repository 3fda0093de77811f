"""What a run leaves: logs, receipts, and how long they are kept."""
