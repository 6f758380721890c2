"""Folders of pictures."""
