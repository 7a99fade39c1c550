"""Fast sums over integers: compiled where the work is worth it, NumPy with the same results elsewhere."""
