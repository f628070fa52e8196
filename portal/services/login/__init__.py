"""Logging in and staying so: passwords, second factor, access tokens."""
