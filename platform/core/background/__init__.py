"""Work that no web request does: rows that ask for it, messages that name a row, processes that claim it."""
