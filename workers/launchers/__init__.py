"""Launchers: daemons that make workers appear in a cluster while runs wait, and go when none do."""
