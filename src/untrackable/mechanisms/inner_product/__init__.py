"""Deck, Fading and RNIP: mechanisms over noisy inner products, set by a whole privacy budget."""
