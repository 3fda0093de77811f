"""The web server: a loop receives and sends, and threads work on complete requests."""
