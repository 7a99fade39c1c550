"""What all benchmarks share: rows, clocks, and the tables of the documents."""
