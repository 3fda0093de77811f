"""Competitions kept as code: a folder's difference to what is live, and the change of a competition to what the folder says."""
