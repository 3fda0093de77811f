"""Common parts of the ready tracks: a track's description, and its bundle."""
