from django.apps import AppConfig
from django.conf import settings
from django.core.signals import request_started


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        from memory import checks  # noqa: PLC0415 - registers the system checks
        from memory.models.sql import look_for_lost_connection  # noqa: PLC0415 - models are loaded by now
        from memory.services.usage import calls  # noqa: PLC0415 - as above

        request_started.connect(look_for_lost_connection)
        calls.connect()
        if settings.MEMOS_TELEMETRY and checks.has_telemetry():
            from memory import telemetry  # noqa: PLC0415 - an optional requirement

            telemetry.start(settings.SPECTACULAR_SETTINGS["VERSION"])
