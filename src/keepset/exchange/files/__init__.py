"""What all files have in common: names, rows, new ones."""
