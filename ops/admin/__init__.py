"""The Django admin of MemOS, in which staff look at data, curate memories and issue keys."""

from django.contrib import admin
from django.utils.translation import gettext_lazy
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from ops.model_words import translate_models

# This has to come before forms are made of the models, because they copy the labels.
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
# Second factors are secret; they are managed on the account page only.
admin.site.unregister([TOTPDevice, StaticDevice])
admin.site.site_header = "MemOS"
admin.site.site_title = "MemOS"
admin.site.index_title = gettext_lazy("Admin")
admin.site.site_url = "/ops/"
# templates/admin/base_site.html has the console's navigation instead.
admin.site.enable_nav_sidebar = False
