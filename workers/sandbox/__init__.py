"""Runs one stage in one container, hardened and bounded, and collects what it left: nothing of it is trusted."""
