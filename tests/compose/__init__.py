"""docker-compose.yml run for real, by a Docker of the tests' own: `make test-compose`."""
