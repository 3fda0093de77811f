"""The Submissions tab: the list, one submission, and the final ones."""
