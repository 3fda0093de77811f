"""The agreements of site and worker, for both to import: no Django, no Docker."""
