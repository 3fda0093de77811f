"""The guided path: which steps there are for each way to begin, and the form of each."""
