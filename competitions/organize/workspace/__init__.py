"""The workspace of a running competition."""
