"""Benchmarks: import of their results, figures of the cluster and of users."""
