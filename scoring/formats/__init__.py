"""The official files of predictions and of results: their layout, and reading what nobody has vouched for."""
