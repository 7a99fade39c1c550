"""The life of a round: which reports it accepts, how they are stored together, and how it is closed."""
