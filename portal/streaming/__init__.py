"""Streaming of proxied responses and server-sent events."""
