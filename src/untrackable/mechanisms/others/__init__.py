"""Mechanisms by other authors that belong to none of the families."""
