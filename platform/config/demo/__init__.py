"""`make demo`: a whole site on one machine, with a small competition that is scored while you watch."""
