"""People's files: everything is done by their own launchers; the portal opens none of them."""
