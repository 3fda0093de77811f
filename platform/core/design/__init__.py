"""Drawn parts of pages: charts, and covers and colours made from names."""
