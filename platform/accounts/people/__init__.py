"""People to each other: who is meant by a name, public profiles, and who blocks whom."""
