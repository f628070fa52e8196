"""The hosts of docker-compose.yml, from the same description as the single-machine cluster."""
