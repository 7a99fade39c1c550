"""Adds up reports where one machine is not enough, with the same sums."""
