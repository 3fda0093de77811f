"""Sealed boards: the digest at the close, the reveal, and what proves it."""
