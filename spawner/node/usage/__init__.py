"""Measuring what a session or job uses of its node."""
