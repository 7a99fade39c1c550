"""From sums to answers: what is asked of them, and the frequencies or strings that come out."""
