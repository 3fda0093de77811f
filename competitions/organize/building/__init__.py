"""Builds a competition from a draft: writes and imports a bundle, and scores its sample on trial."""
