"""The parts of a running cluster: directory, accounting, Slurm and the portal."""
