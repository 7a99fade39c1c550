"""Measured speed, memory and error, each beside a named peer: `python -m benchmarks --help`."""
