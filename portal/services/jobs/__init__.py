"""Batch jobs: preparation, submission, lists, logs and results."""
