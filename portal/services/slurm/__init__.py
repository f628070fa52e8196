"""Submission of rows to Slurm, and updates of rows from Slurm's reports."""
