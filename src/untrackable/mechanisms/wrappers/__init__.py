"""Mechanisms made from any local one: they send its reports fresh, always the same, from a store, or as a deck."""
