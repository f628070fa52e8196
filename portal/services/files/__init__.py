"""Files of users. All operations run in the users' own launchers; the portal opens no user file."""
