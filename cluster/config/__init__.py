"""The cluster's description, addresses, secrets and rendered configuration."""
