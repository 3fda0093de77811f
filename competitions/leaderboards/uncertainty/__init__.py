"""How sure a board is: replicates of what stands on it, and what follows from them, made in the background."""
