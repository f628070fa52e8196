"""Disabling and deleting users, and what ends with them."""
