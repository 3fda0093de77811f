"""Commitments to boards, their amendments, and the manifest by which anybody checks both."""
