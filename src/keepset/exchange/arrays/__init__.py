"""NumPy's files of arrays."""
