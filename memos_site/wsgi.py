"""The WSGI application.

It imports all routes and the libraries of the embedding provider at once, so that no request waits for imports and
forked workers share them.
"""

import logging
import os
from importlib import import_module

from django.conf import settings
from django.core.checks import run_checks
from django.core.wsgi import get_wsgi_application

from memory.checks import check_unknown_settings
from memory.conf import UNSAFE, ConfigurationError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")

application = get_wsgi_application()
# A web server that is started without manage.py has run no checks yet.
if _unsafe := [one for one in run_checks(tags=[UNSAFE]) if one.is_serious()]:
    raise ConfigurationError("\n".join(f"({one.id}) {one.msg} {one.hint}" for one in _unsafe))
for _message in check_unknown_settings(None):
    logging.getLogger("memos.settings").warning("%s %s", _message.msg, _message.hint)
import_module(settings.ROOT_URLCONF)
import_module(f"memory.providers.embedding.{settings.MEMOS_EMBEDDING_PROVIDER}")
