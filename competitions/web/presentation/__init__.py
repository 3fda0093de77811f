"""What the header and the cards of competitions show."""
