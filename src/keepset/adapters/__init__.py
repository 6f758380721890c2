"""One framework per file or folder: a pipeline as the framework's own kind of data, and back."""
