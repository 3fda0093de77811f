"""Drawn parts of pages: charts, icons, and colours and covers made from names."""
