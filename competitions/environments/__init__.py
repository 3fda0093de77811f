"""The environment that a team brings for its code: weights and container images, by name and version."""
