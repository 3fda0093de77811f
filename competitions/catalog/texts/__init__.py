"""Texts of a competition: pages in their order, and the images that they show."""
