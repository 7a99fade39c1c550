"""The pages that people look at: campaigns, their guarantees and their answers."""
