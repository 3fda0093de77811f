"""Webhooks: signed messages to a program of a team or of organizers when something happens, with retries and a log."""
