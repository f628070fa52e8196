"""TensorBoards, and access to them."""
