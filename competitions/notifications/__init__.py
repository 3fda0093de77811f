"""Word when something happens: an inbox for each person, and mails at once or once a day as they choose."""
