"""The Django admin of MemOS: staff look at what is stored, curate memories and hand out keys."""

from django.contrib import admin
from django.utils.translation import gettext_lazy
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from ops.model_words import translate_models

# Before the forms of the models are made, which take their labels then.
translate_models()

from ops.admin import (  # noqa: E402
    access,
    activation,
    bulk,
    cube_files,
    cubes,
    documents,
    evaluations,
    imports,
    jobs,
    memories,
    quarantine,
    records,
    registry,
    saved_views,
    staff,
    training,
    uploads,
    webhooks,
)
from ops.sign_in import SignInForm  # noqa: E402

__all__ = [
    "access",
    "activation",
    "bulk",
    "cube_files",
    "cubes",
    "documents",
    "evaluations",
    "imports",
    "jobs",
    "memories",
    "quarantine",
    "records",
    "registry",
    "saved_views",
    "staff",
    "training",
    "uploads",
    "webhooks",
]

admin.site.login_form = SignInForm
# Keys and backup codes are nobody's to look at: the account's page sets them up and takes them away.
admin.site.unregister([TOTPDevice, StaticDevice])
admin.site.site_header = "MemOS"
admin.site.site_title = "MemOS"
admin.site.index_title = gettext_lazy("Admin")
admin.site.site_url = "/ops/"
# The console's navigation stands there (templates/admin/base_site.html).
admin.site.enable_nav_sidebar = False
