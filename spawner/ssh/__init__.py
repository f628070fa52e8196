"""SSH connections to sessions and batch jobs: what the portal and the node programs share."""
