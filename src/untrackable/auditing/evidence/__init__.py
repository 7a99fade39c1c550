"""Evidence from reports alone, recorded in files or sent by black boxes. Nothing is assumed about the mechanism."""
