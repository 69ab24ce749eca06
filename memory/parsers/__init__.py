"""Reads files as text: what a file is, and its text as Markdown with headings, tables and page breaks.

Nothing here knows Django, settings or the database: it runs in a child process that is confined (`confine`), which
`process` starts and watches.
"""
