"""Views of the pages: they read, ask the services, and render. One module or folder for each tab of a competition."""
