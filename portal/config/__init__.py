"""Settings: their types, the settings file that `portal init` proposes, and the origins they
name."""
