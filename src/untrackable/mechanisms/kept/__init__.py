"""Mechanisms that keep a noisy value for ever and report it through more noise."""
