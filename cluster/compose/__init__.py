"""docker-compose.yml's hosts, from the same description as the cluster on one machine."""
