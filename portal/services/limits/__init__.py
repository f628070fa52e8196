"""What people may use, what they have used, and Slurm told of it."""
