"""Packaging, installation and upgrade of the portal, and the configuration rendered from its
settings.
"""
