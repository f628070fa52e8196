"""One file per resource: request and response shapes, and thin routes."""
