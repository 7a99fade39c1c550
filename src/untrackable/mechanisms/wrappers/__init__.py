"""Mechanisms made from any local one: stored, dealt, memoised or fresh executions."""
