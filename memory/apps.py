from django.apps import AppConfig
from django.conf import settings


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        from memory import checks  # noqa: PLC0415 - registers the system checks
        from memory.services.usage import calls  # noqa: PLC0415 - models are loaded by now

        calls.connect()
        if settings.MEMOS_TELEMETRY and checks.has_telemetry():
            from memory import telemetry  # noqa: PLC0415 - an optional requirement

            telemetry.start(settings.SPECTACULAR_SETTINGS["VERSION"])
