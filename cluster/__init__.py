"""A real Slurm and LDAP cluster on one machine, for trial and tests."""
