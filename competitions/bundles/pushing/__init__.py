"""Competitions kept as code: compare a folder with the live competition, and change it to the folder."""
