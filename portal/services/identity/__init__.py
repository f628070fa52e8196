"""Users as the directory and the portal's rows describe them: roles, groups, home directories."""
