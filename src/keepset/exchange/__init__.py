"""Other people's files, read and written without the programs that made them."""
