"""Views of `/api/v1/`: they translate between HTTP and the services."""
