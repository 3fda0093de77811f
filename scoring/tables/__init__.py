"""Competitions whose files are tables: reading, recognising, checking, splitting and scoring.

Needs the extra ``podium[tables]``; nothing outside this package imports it at load time.
"""
