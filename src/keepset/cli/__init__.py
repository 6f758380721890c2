"""The command line: one command per file, each a thin shell over the library."""
