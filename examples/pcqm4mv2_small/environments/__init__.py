"""Code submissions that bring an environment of their own, one of each kind."""
