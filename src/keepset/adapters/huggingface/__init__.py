"""Hugging Face: data sets of the ``datasets`` package, in and out."""
