"""WebDataset's archives of samples."""
