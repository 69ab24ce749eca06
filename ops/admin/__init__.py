"""The Django admin of MemOS: staff look at what is stored, curate memories and hand out keys."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from ops.admin import access, bulk, evaluations, jobs, memories, quarantine, records, registry, saved_views, staff

__all__ = [
    "access",
    "bulk",
    "evaluations",
    "jobs",
    "memories",
    "quarantine",
    "records",
    "registry",
    "saved_views",
    "staff",
]

admin.site.site_header = "MemOS"
admin.site.site_title = "MemOS"
admin.site.index_title = _("Admin")
admin.site.site_url = "/ops/"
# The console's navigation stands there (templates/admin/base_site.html).
admin.site.enable_nav_sidebar = False
