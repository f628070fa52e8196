"""Sessions: their owner's view, the hub's, their node's, and who may enter."""
