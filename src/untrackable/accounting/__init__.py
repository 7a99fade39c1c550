"""What a campaign promises, recomputed by two engines.

A client recomputes it with the standard library alone, in whole numbers rounded to the safe side; the server's
engine is sharper and needs SciPy.
"""
