"""Threads and processes that run user functions."""
