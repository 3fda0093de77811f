"""How the worker speaks with its site: calls, claims, heartbeats, uploads, wake-ups."""
