"""The one place that writes what an organizer defines: competitions, phases, boards, tasks.

Forms of the workspace and of the admin, the API, Codabench's API, imports and pushes call these functions and save nothing themselves.
"""
