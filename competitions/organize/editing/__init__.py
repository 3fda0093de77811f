"""Changes to a competition that organizers make in the workspace: pages, rules, phases, boards, data."""
