"""Proposals: what they would do to boards, what they cost, and how they are applied."""
