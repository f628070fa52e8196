"""Records what Slurm's commands print, of several versions: `python -m tests.recording SUITE…`."""
