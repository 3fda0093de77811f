"""Notifications: an inbox for each person, and mails at once or daily, as they choose."""
