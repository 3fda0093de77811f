"""What a team brings for its code beside the code: weights and container images, by name and version."""
