"""Deck, Fading and RNIP: mechanisms that send noisy inner products and are set by a whole privacy budget."""
