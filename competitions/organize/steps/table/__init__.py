"""A competition on a table: its answers, columns and metric, public and private part."""
