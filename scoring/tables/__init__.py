"""Competitions whose files are tables: reading, recognising, checking, splitting, aligning and scoring them.

Needs the extra ``podium[tables]``; nothing outside this package imports it at load time.
"""
