"""The console's views, one module per page. Each checks access, has ops.pages build its contents, and renders."""
