"""What belongs to one person over all competitions: what everybody sees of them, their data, and the end of an account."""
