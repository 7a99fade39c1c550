"""Pure mathematics: how well can an observer tell world P from world Q?

Nothing here reads a file or a clock. Functions that sample take a random generator as an argument.
"""
