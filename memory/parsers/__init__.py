"""Reads files as text: detects their kind, and converts them to Markdown with headings, tables and page breaks.

This package doesn't know Django, settings or the database: it runs in a confined child process (`confine`), which
`process` starts and watches.
"""
