"""Views of the pages: they read, ask the services, and render. One module for each tab of a competition."""
