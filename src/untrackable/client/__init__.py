"""What runs beside the person: accounting, ledger, state, and sending, all with the standard library."""
