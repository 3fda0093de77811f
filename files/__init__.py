"""Readers and checks of the files that people send, for the site and for participants' machines.

No Django, no database.
"""
