"""The web service: API, pages, and the one place that decides what should run."""

__version__ = "0.1.0"
