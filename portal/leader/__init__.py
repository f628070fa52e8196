"""Leader election among portals on one PostgreSQL, and forwarding to the leader."""
