"""Work outside web requests: rows that ask for it, messages that name a row, processes that claim it."""
