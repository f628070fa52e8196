"""Environments and job templates: loaded, validated and rendered."""
