"""Reading tables from files: what a file is, its encoding, its cells."""
