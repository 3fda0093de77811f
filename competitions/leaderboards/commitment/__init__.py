"""What is committed to on a board, what is amended later, and how anybody checks both."""
