"""The demonstration: it collects reports from a population, and then tries to follow people by them."""
