"""E-mails to people: what they say, which are due, and the loop that sends them."""
