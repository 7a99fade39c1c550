"""How well do reports identify a person?"""
