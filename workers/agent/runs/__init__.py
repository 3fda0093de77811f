"""One run on this host: staged, executed, written down for a successor, reported."""
