"""Rows beside Slurm: submitted, watched, brought to what Slurm says."""
