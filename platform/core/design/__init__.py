"""Parts of pages that neither a style sheet nor a template can make: colours and covers from names, icons."""
