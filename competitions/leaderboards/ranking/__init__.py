"""The order of a board: values of columns, the scores that count, ranks over columns and datasets."""
