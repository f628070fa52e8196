"""TensorBoards, and who may look at them."""
