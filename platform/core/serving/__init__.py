"""The web server: a loop that reads heads and bodies and sends answers, and threads that are given whole requests alone."""
