"""OpenAI's Responses API, told as chat completions and back, for the programs that speak nothing else."""
