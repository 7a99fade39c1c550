"""What goes between people and servers: campaigns, and reports as bytes."""
