"""The type of a page's words: a string, or one that gettext translates on display."""

from django.utils.functional import Promise

Words = str | Promise
