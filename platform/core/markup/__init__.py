"""People's texts as the site stores and shows them; `files/markup/` makes their HTML."""
