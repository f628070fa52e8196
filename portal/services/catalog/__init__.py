"""Environments and templates of the site, and the images that they run from."""
