"""Recordings of Slurm's command output, for several versions: `python -m tests.recording
SUITE…`."""
