"""Who did what: written, searched, exported, kept."""
