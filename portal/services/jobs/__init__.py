"""Batch jobs: from a wish to a list with logs and results."""
