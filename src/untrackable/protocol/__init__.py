"""The data that clients and the collector exchange: campaigns, and reports as bytes."""
