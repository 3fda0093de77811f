"""Accounting: slots that runs held, their cost by month, and GPU hours that a competition may use."""
