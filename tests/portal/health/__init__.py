"""The health checks of a running portal."""
