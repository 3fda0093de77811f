"""Runs one stage in one container, hardened and bounded, and collects its output untrusted."""
