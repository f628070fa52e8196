"""The cluster as shown to users: nodes, queue and upcoming reservations."""
