"""What the ready tracks share: a track's description and how it becomes a bundle."""
