"""What teams bring for their code, on a worker: their images, and environments that are built from locked requirements."""
