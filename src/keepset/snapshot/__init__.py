"""Snapshots: write, commit, reuse and replay what a pipeline gives."""
