"""The worker's process: claims runs, stages their files, has them executed, and reports."""
