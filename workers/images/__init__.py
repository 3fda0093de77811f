"""Images that submissions run in: the Debian base, made locally where it cannot be pulled, and Podium's runtime."""
