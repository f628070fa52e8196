"""The HTTP API: one file per resource, with request and response schemas and thin routes."""
