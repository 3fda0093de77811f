"""What site and worker agree on, for both to import: no Django, no Docker, nothing else of the worker."""
