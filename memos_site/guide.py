"""Serves the documentation at /guide/, if `make guide` has built it."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.static import serve


@require_safe
def guide(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """Answers with a file of the built site; for a folder, with its index.html, as MkDocs names pages.

    If the site is not built, it answers every path with the command that builds it. Raises Http404 for a missing file.
    """
    root = settings.GUIDE_DIR
    if not (root / "index.html").is_file():
        return _how_to_build(request)
    if ".." in path.split("/"):
        raise Http404
    is_folder = not path or path.endswith("/")
    if not is_folder and (root / path.lstrip("/")).is_dir():
        return HttpResponseRedirect(request.path + "/")
    answer = serve(request, path + "index.html" if is_folder else path, document_root=str(root))
    answer.headers["Cache-Control"] = "no-cache"
    return answer


def _how_to_build(request: HttpRequest) -> HttpResponse:
    return render(request, "guide.html", status=404)
