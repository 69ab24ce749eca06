"""The Model Context Protocol at `/mcp`: tools, resources and a prompt on top of the routes of the API."""
