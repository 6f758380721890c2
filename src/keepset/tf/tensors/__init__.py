"""What tensors are: their values, dtypes, shapes, operators, and the way to and from elements."""
