"""OpenAI's Responses API, translated to and from chat completions, for programs that speak no other API."""
