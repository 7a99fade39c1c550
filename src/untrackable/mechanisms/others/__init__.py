"""Other people's mechanisms, which fit none of the families."""
