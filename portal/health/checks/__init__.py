"""The health checks, by the part of the installation that they test; registry.py lists them."""
