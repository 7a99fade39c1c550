"""From reports to frequencies: sums that add and merge, and estimates with error bars."""
