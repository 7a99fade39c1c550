"""Files of reports: written whole or not at all, read piece by piece as tables, summed."""
