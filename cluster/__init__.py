"""A real Slurm and LDAP cluster on one machine, for demonstrations and tests."""
