"""Apps of a session: web applications of the user, each in a process of its own."""
