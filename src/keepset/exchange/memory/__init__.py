"""Tables in memory: Arrow, pandas and Polars."""
