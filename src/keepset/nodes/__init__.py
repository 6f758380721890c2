"""One transformation per file, each a node and its cursor."""
