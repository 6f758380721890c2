"""Files and what is in them: streams, sound, checkpoints, Examples."""
