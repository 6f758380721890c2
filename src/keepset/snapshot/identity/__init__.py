"""What pipelines and passes over them are known by."""
