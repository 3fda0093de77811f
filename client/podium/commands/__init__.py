"""The verbs of the program `podium`, by subject."""
