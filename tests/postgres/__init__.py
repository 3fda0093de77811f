"""PostgreSQL for tests that commit: Django's own engine, but for how tables are emptied after each of them."""
