"""Pages of what an organizer has beside competitions: files, queues, series."""
