"""What ``tf.strings`` and ``tf.io`` are made of: bytes, hashes, patterns, numbers in text."""
