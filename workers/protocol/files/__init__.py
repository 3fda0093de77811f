"""Files that teams bring for their code, read by the same rules on the site, on workers and at home."""
