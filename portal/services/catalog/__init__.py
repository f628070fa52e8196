"""Environments and templates of the site, and the container images that they run from."""
