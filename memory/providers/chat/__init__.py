"""Chat models behind OpenAI-compatible endpoints: providers, which model serves which purpose, one client."""
