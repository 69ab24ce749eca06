"""The WSGI application. Loads every route and the embedding provider's libraries at once: no request waits for imports,
and workers that are forked share them."""

import logging
import os
from importlib import import_module

from django.conf import settings
from django.core.checks import run_checks
from django.core.wsgi import get_wsgi_application

from memory.conf import UNSAFE, ConfigurationError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")

application = get_wsgi_application()
# A web server that is started without manage.py has looked at no check.
if _unsafe := [one for one in run_checks(tags=[UNSAFE]) if one.is_serious()]:
    raise ConfigurationError("\n".join(f"({one.id}) {one.msg} {one.hint}" for one in _unsafe))
for _name, _nearest in settings.MEMOS_UNKNOWN.items():
    logging.getLogger("memos.settings").warning("unknown setting", extra={"variable": _name, "nearest": _nearest})
import_module(settings.ROOT_URLCONF)
import_module(f"memory.providers.embedding.{settings.MEMOS_EMBEDDING_PROVIDER}")
