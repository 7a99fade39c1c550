"""Parameters of mechanisms: chosen for demands, or published."""
