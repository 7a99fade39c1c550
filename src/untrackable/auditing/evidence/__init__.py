"""What reports themselves show, recorded in files or sent by black boxes; nothing is assumed of the mechanism."""
