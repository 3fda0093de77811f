"""The pages of the guided path."""
