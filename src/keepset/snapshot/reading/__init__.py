"""Reading what is kept: versions by their place, chunks loaded once and ahead of time."""
