"""Runs on compute workers: leases, what workers report under them, and retries."""
