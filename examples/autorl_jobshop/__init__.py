"""Dynamic job-shop scheduling with machine breakdowns: agent and environment in two containers at once."""
