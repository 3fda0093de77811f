"""Texts of organizers and participants as the site keeps and shows them; `files/markup/` makes their HTML."""
