"""Decodes RAPPOR data that already exists: google/rappor's files, and the strings behind their counts."""
