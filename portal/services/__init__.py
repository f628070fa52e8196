"""What a route means. Only this package and the reconcile loop write the database."""
