"""What a page says: a string, or one that gettext translates when it is shown."""

from django.utils.functional import Promise

Words = str | Promise
