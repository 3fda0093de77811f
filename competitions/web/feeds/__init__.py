"""What other programs read again and again: Atom feeds of announcements and of a board's best score, and calendars of deadlines."""
