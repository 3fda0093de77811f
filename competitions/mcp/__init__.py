"""The door for agents: tools of the Model Context Protocol, each a call of the API."""
