"""Views: read, ask services, render. One module or folder for each tab of a competition."""
