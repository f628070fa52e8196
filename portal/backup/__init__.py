"""Backup, restore and the schema's revision."""
