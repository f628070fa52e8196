"""SSH connections to sessions: what the portal and the node programs share."""
