"""The pages of the guided path, from its start to the review."""
