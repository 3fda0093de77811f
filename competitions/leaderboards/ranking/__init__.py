"""What a board is ordered by: values of columns, which of them count, ranks over columns and datasets."""
