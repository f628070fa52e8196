"""Background work: loops, the reconciler, keyed tasks and change notifications."""
