"""Environments, apps and job templates, and the scripts and config files of jobs."""
