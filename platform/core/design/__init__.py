"""What pages are drawn with that neither a style sheet nor a template can make: colours and covers from names, icons."""
