"""Business logic behind the routes. Only it and the reconcile loop write to the database."""
