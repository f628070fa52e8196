"""Resource limits and usage: policy, effective limits, GPU-hours, and Slurm associations."""
