"""Measuring what a session uses of its node."""
