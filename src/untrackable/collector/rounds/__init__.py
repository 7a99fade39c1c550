"""A round: which reports it takes, how they are stored together, and how it is closed."""
