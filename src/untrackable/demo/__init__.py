"""The main job on the embedded default: collect from a population, then try to follow it."""
