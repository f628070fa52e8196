"""The web service: API, pages, and the one place that decides what should run."""
