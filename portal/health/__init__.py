"""Health checks, for `portal check` and for Admin > Status."""
