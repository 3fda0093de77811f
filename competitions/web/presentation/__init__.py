"""Content of the header and of the cards of competitions."""
