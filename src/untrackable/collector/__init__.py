"""The collector: takes reports over HTTP, keeps what it acknowledged, and knows nothing that it should not."""
