"""PostgreSQL for tests that commit: Django's own engine, which empties tables in another way."""
