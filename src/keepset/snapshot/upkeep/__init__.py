"""Upkeep: checking, repairing and removing what is kept."""
