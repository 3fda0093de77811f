"""What a submitted file must be: looked at before it is queued, and read to its end in the background."""
