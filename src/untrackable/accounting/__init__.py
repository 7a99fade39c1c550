"""What a campaign promises, recomputed: by the full engine, and by a client in whole numbers."""
