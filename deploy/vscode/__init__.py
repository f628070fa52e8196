"""VS Code for sessions: its installation, and the files that are installed with it."""
