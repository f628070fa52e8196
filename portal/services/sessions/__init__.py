"""Sessions as seen by their owner, the hub and their node program, and access control for them."""
