"""The docs as a part of the site: what was built is served, and every page leads to the right place in it."""
