"""From sums to answers: the values that are asked about, their estimates by round and pooled, and their names."""
