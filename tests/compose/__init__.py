"""docker-compose.yml run by a separate Docker for the tests: `make test-compose`."""
