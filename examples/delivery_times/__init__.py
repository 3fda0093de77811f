"""A table competition with a metric of its own: how long a delivery takes, where being late costs more than being early."""
