"""Public rules that turn people's values into integers below 2^d. They also decide about values that do not fit."""
