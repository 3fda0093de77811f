"""Feeds for other programs: Atom for announcements and for a board's best score, calendars for deadlines."""
