"""Announcements: their changes, and the cache that pages read."""
