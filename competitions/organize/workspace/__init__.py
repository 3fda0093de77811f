"""What organizers see of their competition as it runs."""
