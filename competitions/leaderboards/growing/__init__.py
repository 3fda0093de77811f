"""Boards that grow in both directions: datasets join them, and every algorithm is run on each."""
