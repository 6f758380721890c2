"""The files that a pipeline names: how they stood when it was kept, and whether they changed."""
