"""Finding frequent strings that nobody listed, from the sums of `Levelled` reports about `DiscoveredStrings`."""
