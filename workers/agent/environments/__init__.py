"""Environments of teams on a worker: their images, and packages from locked requirements."""
