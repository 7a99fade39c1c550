"""The parts that every server of this package shares: bounded connections, problems, processes."""
