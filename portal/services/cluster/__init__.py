"""The cluster as people look at it: its nodes, its queue, and what lies ahead."""
