"""Plug-ins that JupyterHub loads: a spawner, an authenticator and a proxy."""
