"""The health checks that need no portal."""
