"""TensorFlow's own files, read and written by TensorFlow and by Keepset."""
