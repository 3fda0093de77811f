"""A new solution of a table competition: read, compared, confirmed, and everything scored with it again."""
