"""Lines of text, and records of a fixed length."""
