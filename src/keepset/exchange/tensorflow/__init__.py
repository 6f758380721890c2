"""TensorFlow's files: records, examples, saved data sets and snapshots."""
