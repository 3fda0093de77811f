"""The Docker Engine: the one package that knows its SDK, its JSON and its control groups."""
