"""The guarantee of a campaign, recomputed: by a client in closed form, and by the full engine."""
