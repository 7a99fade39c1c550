"""Stores of reports, sums, campaigns and keys: one schema, in SQLite or in PostgreSQL."""
