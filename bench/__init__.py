"""Benchmarks of speed and memory against alternatives: `python -m bench [NAME …]` or `make
bench`."""
