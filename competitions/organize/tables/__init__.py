"""Reads and writes a draft's tables in a separate interpreter, without Django; it runs `program`."""
