"""The official files of predictions and results: their layout, and reading them untrusted."""
