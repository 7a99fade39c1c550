"""Mechanisms whose clients keep a noisy copy of their value for ever and add noise to every report."""
