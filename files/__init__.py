"""Readers and checks of the files that people send: the same on the site and on a participant's machine. No Django, no database."""
