"""Two engines that recompute a campaign's guarantee.

A client uses the standard library alone and whole numbers, rounded to the safe side. The server's engine is sharper
and needs SciPy.
"""
