"""A table competition with its own metric: delivery times, where late costs more than early."""
