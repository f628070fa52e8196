"""Speed and memory beside the alternatives: `python -m bench [NAME …]`, or `make bench`."""
