"""Configuration of the front door, the hub and the machine, rendered from the portal's settings."""
