"""Where reports, sums, campaigns and keys are kept: one schema, in SQLite or in PostgreSQL."""
