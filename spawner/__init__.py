"""Submission and supervision of Slurm jobs; independent of databases and web frameworks."""
