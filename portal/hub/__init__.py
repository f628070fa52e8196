"""JupyterHub's REST API."""
