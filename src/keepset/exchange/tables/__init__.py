"""Files of tables: CSV, JSON lines, Parquet."""
