"""The audit trail: recording, search, export and retention."""
