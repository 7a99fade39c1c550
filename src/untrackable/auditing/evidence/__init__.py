"""What reports themselves show, nothing being assumed of the mechanism: recorded ones, and those of black boxes."""
