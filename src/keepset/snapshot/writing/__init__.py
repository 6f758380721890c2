"""Writing: elements into segments, segments into commits, and who is allowed to."""
