"""Explanations of Slurm's codes for users: why a job waits, was refused, or how it ended."""
