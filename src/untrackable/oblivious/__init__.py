"""Sealed reports: binary HTTP (RFC 9292), key configurations and encapsulation (RFC 9458), and a gateway's keys."""
