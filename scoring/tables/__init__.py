"""Competitions whose files are tables: reading, recognising, checking, splitting and scoring.

Reading needs the extra ``podium[tables]``. What a site knows of tables needs none of it:
`schema`, `previews`, `choices`, `matching` and `reading.file_types`.
"""
