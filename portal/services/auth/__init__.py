"""Authentication: passwords, second factors, web sessions and access tokens."""
