"""Readers and checks of files that people send, for site and participants. No Django, no database."""
