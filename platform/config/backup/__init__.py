"""Backup and restore of a whole site: its tables and stored files, checked by digest both ways."""
