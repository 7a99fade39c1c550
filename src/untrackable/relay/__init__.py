"""A relay: it passes sealed reports on to gateways, and keeps nothing."""
