"""E-mail notifications: their texts, the events that are due, and the loop that sends them."""
