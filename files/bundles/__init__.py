"""Reading a bundle: its files, its document, and what is wrong with them. No database."""
