"""Dynamic job-shop scheduling with breakdowns: agent and environment in two containers at once."""
