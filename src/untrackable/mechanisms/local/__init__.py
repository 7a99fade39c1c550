"""Local mechanisms: they make one report from one value and keep no state."""
