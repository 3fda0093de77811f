"""Ready competitions: each folder builds a bundle, with its data and its baselines."""
