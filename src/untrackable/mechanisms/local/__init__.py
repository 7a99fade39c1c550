"""Local mechanisms: one report from one value, without a state."""
