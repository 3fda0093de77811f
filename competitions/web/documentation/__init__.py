"""The docs as a part of the site: how they are served, and where each page leads in them."""
