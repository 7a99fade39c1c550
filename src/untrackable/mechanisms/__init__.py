"""The mechanisms: one file each. `base` says what a mechanism is."""
