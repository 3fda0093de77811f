"""Node classification on several graphs, by code with `fit` and `predict`."""
