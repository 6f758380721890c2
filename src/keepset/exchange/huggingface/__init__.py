"""Folders that Hugging Face datasets saved, read without it."""
