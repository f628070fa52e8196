"""People, groups and roles, and what happens to those who leave."""
