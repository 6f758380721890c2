"""Arrow's record batches as chunks, and chunks as record batches."""
