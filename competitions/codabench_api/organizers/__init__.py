"""The calls of those who organize a competition."""
