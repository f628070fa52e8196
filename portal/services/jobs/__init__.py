"""Batch jobs: preparation, submission, lists, logs and results.

The launcher is the program that sudo lets the portal run as a user: it submits and cancels jobs and
reads their logs (spawner/launcher). The files program serves one user's files, as that user
(spawner/files).
"""
