"""Pure mathematics: how well can an observer tell world P from world Q?

No I/O, no clock; randomness only where a generator is handed in.
"""
