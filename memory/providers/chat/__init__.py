"""Chat models behind OpenAI-compatible endpoints: providers, models by purpose, and one client."""
