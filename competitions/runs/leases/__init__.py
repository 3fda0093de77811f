"""Runs on compute workers: the lease that holds one, what its worker reports under it, and what becomes of those that are lost."""
