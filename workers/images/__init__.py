"""Images that submissions run in: the Debian base and Podium's runtime.

The base is made locally where it cannot be pulled.
"""
