"""Which run is next, which of them a worker may be given, and where a waiting run stands."""
