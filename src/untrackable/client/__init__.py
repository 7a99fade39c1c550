"""The client runs beside a person: it keeps the ledger and states, and sends reports, with the standard library."""
