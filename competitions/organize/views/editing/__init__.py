"""Pages of the workspace that edit what a competition is made of."""
