"""The worker's calls of its site: claims, heartbeats, uploads, wake-ups."""
