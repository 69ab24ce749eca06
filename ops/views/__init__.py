"""The console's views, a module a page: each guards, asks ops.pages what to show, and renders."""
