"""Background work: the reconciler, keyed tasks and change notifications."""
