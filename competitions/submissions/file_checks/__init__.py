"""Checks of submitted files: a look before they are queued, and a full read in the background."""
