"""Audits: how well do reports identify a person, by theory and by attack?"""
