"""Anthropic's Messages API, translated to and from chat completions, for Claude Code and other clients of that API."""
