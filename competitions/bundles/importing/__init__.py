"""Making rows of a bundle that was read."""
