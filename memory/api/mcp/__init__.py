"""The Model Context Protocol at `/mcp`: tools, resources and a prompt over the routes of the API."""
