"""New solutions of table competitions: compared, confirmed, and everything scored with them again."""
