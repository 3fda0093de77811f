"""Webhooks: signed messages to programs of teams or organizers, with retries and a log."""
