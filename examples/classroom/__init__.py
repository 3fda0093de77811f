"""A competition for a course: a table, a public and a private part, generated data."""
