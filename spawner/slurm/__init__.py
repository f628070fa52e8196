"""Slurm: the client, parsers of its output, the watcher, the job tracker."""
