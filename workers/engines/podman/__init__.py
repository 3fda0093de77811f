"""Podman: the one package that knows its own interface, its JSON and its way with memory."""
