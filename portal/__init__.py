"""The portal's web service: the API, the pages, and the desired state of sessions and jobs."""

__version__ = "0.1.0"
