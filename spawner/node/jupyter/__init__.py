"""The single-user server of a session and its extensions."""
