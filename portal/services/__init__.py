"""Business logic behind the routes, the command line and the background loops."""
