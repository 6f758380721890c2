"""Recipes: a pipeline as plain data, to be read by people, kept beside its output and run again."""
