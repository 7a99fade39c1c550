"""Finds the mechanism that meets the goals, or says why none does."""
