"""Pages of what changes scores: new solutions and proposals."""
