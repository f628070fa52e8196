"""The `portal` command line: one module per command group."""
