"""Feeds: Atom for announcements and a board's best score, calendars for deadlines."""
