"""Backup and restore of a whole site: its tables and its stored files, checked by digest on the way in and out."""
