"""Rendering of the configuration of nginx, the hub and the machine from the portal's settings."""
