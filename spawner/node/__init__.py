"""Programs that run on a compute node, as the user."""
