"""Anthropic's Messages API, told as chat completions and back, for Claude Code and the programs that speak it."""
