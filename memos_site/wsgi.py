"""The WSGI application. Loads every route at once, so that the first request does not wait for imports."""

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")

application = get_wsgi_application()
import_module(settings.ROOT_URLCONF)
