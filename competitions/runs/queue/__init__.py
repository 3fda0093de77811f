"""The order of waiting runs, the runs that a worker may be given, and the place of each."""
