"""System checks that report a misconfiguration before the first request meets it (`manage.py check`)."""

from __future__ import annotations

from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from memory.conf import UNSAFE
from memory.enums import CHAT_PURPOSES, ModelPurpose
from memory.governance.policy import contradictions
from memory.providers.chat.presets import PRESETS
from memory.providers.chat.registry import is_model_name, missing_setting, resolve_model
from memory.providers.rerank import OFF
from memory.providers.rerank.registry import find_kind
from memory.removed_settings import FIXED, POLICY_KEYS, REFUSED


@register(Tags.compatibility)
def check_language_model(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about a language model that is enabled without its key and stays off, and for which purposes."""
    if not settings.MEMOS_LLM_ENABLED:
        return []
    lacking: dict[tuple[str, str], list[str]] = {}
    for purpose in CHAT_PURPOSES:
        provider, _ = resolve_model(purpose)
        if missing := missing_setting(provider):
            lacking.setdefault((provider, missing), []).append(purpose.value)
    return [
        Warning(
            f"MEMOS_LLM_ENABLED is set without {missing}, which the provider {provider} needs: it does not "
            f"{', '.join(purposes)}, and what needs no model is done instead.",
            hint=f"Set {missing}, choose another provider (MEMOS_LLM_PROVIDER), or unset MEMOS_LLM_ENABLED.",
            id="memos.W001",
        )
        for (provider, missing), purposes in lacking.items()
    ]


@register(Tags.compatibility)
def check_unknown_settings(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about variables that look like settings and aren't, because they are misspelt or from an earlier version."""
    return [
        _no_longer(name) if name in FIXED else _unknown(name, nearest)
        for name, nearest in settings.MEMOS_UNKNOWN.items()
        if name not in POLICY_KEYS and name not in REFUSED
    ]


def _no_longer(name: str) -> Warning:
    return Warning(f"{name} is no longer a setting: {FIXED[name]}.", hint=f"Unset {name}.", id="memos.W007")


def _unknown(name: str, nearest: str) -> Warning:
    return Warning(
        f"{name} is no setting and has no effect.",
        hint=f"{name}: did you mean {nearest}?" if nearest else f"Unset {name}: .env.example lists all settings.",
        id="memos.W006",
    )


@register(UNSAFE)
def check_former_policy(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Refuse policy values under former names: without them, text would be stored or sent where it must not."""
    return [
        Error(
            f"{name} is no longer a setting: the values of the policy are in MEMOS_POLICY.",
            hint=f"Write {POLICY_KEYS[name]}=… into MEMOS_POLICY (key=value, with commas between), and unset {name}.",
            id="memos.E015",
        )
        for name in settings.MEMOS_UNKNOWN
        if name in POLICY_KEYS
    ]


@register(UNSAFE)
def check_former_protection(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Refuse settings of an earlier version that protected something and no longer have an effect."""
    return [
        Error(f"{name} is no longer a setting: {REFUSED[name]}.", hint=f"Unset {name}.", id="memos.E016")
        for name in settings.MEMOS_UNKNOWN
        if name in REFUSED
    ]


@register(UNSAFE)
def check_named_models(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Refuse settings that name a model in another form than `provider/model`, or of an unknown provider."""
    return [
        Error(
            f"MEMOS_POLICY: {key}={value} names no model of a provider.",
            hint=f"Write `provider/model`, with a provider of {', '.join(PRESETS)}.",
            id="memos.E012",
        )
        for key in (f"models.{purpose}" for purpose in CHAT_PURPOSES)
        if (value := str(settings.MEMOS_POLICY[key])) and not is_model_name(value)
    ]


@register(UNSAFE)
def check_oauth(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Refuse an issuer of OAuth tokens whose tokens could be forged."""
    issuer = settings.MEMOS_OAUTH_ISSUER
    if not issuer:
        return []
    wrong = [
        (name, f"{name}={value!r} can be read or changed in transit.", "an https:// address")
        for name, value in (
            ("MEMOS_OAUTH_ISSUER", issuer),
            ("MEMOS_OAUTH_AUDIENCE", settings.MEMOS_OAUTH_AUDIENCE),
            ("MEMOS_OAUTH_JWKS_URL", settings.MEMOS_OAUTH_JWKS_URL or issuer),
        )
        if not _is_safe_address(value)
    ]
    return [
        Error(said, hint=f"Set {name} to {wanted}, or unset MEMOS_OAUTH_ISSUER.", id="memos.E013")
        for name, said, wanted in wrong
    ]


def _is_safe_address(value: str) -> bool:
    """Tell whether the address uses https, or plain HTTP on this machine."""
    try:
        place = urlsplit(value)
    except ValueError:
        return False
    host = place.hostname or ""
    return bool(host) and (place.scheme == "https" or (place.scheme == "http" and _is_loopback(host)))


@register(Tags.compatibility)
def check_settling_judge(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about a judge that is enabled without a language model and judges nothing."""
    needed = missing_setting(resolve_model(ModelPurpose.JUDGE)[0])
    if settings.MEMOS_LLM_SETTLING and needed:
        return [
            Warning(
                f"MEMOS_LLM_SETTLING is set without {needed}: no model judges what the rules of settling are unsure "
                "of.",
                hint=f"Set {needed}, or unset MEMOS_LLM_SETTLING.",
                id="memos.W005",
            )
        ]
    return []


@register(Tags.compatibility)
def check_reranker(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about a reranker that lacks a required setting and reranks nothing."""
    provider = settings.MEMOS_RERANK_PROVIDER
    needed = find_kind(provider).needs if provider != OFF else ""
    if needed and not getattr(settings, needed):
        return [
            Warning(
                f"MEMOS_RERANK_PROVIDER={provider} is set without {needed}: nothing is reranked.",
                hint=f"Set {needed}, or MEMOS_RERANK_PROVIDER=off.",
                id="memos.W003",
            )
        ]
    return []


MIN_SECRET_CHARS = 32
MIN_PASSWORD_CHARS = 12
# Examples and tutorials use these as secrets.
EXAMPLES = ("changeme", "change-me", "secret", "password", "example", "insecure", "default", "django-insecure")


@register(UNSAFE)
def check_unsafe_together(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Refuse settings that are fine on one's own machine and dangerous where others can reach the server."""
    found: list[CheckMessage] = []
    if "*" in settings.MEMOS_CORS_ORIGINS or "null" in settings.MEMOS_CORS_ORIGINS:
        found.append(
            Error(
                "MEMOS_CORS_ORIGINS lets every page in every browser call the API.",
                hint="Name the origins of your own pages: https://app.example.com.",
                id="memos.E002",
            )
        )
    if settings.MEMOS_HTTPS and (plain := [one for one in settings.CSRF_TRUSTED_ORIGINS if one.startswith("http://")]):
        found.append(
            Error(
                f"MEMOS_HTTPS=1, and MEMOS_TRUSTED_ORIGINS trusts {plain[0]}, which can be forged in transit.",
                hint="Write it with https://, or leave it out.",
                id="memos.E003",
            )
        )
    if not _is_public():
        return found
    if settings.DEBUG:
        found.append(
            Error(
                f"MEMOS_DEBUG=1 shows code and settings to whoever reaches the server ({_why_public()}).",
                hint="Unset MEMOS_DEBUG, or bind to this machine only: MEMOS_HOST=127.0.0.1 without MEMOS_HTTPS.",
                id="memos.E004",
            )
        )
    if settings.MEMOS_ANONYMOUS:
        found.append(
            Error(
                f"MEMOS_ANONYMOUS=1 opens every memory to whoever reaches the server ({_why_public()}).",
                hint="Unset it and issue keys: manage.py issue_api_key NAME.",
                id="memos.E005",
            )
        )
    secret = settings.SECRET_KEY
    if len(secret) < MIN_SECRET_CHARS or any(secret.lower().startswith(word) for word in EXAMPLES):
        found.append(
            Error(
                f"MEMOS_SECRET_KEY can be guessed, and with it every login and API key ({_why_public()}).",
                hint=f"Make one of {MIN_SECRET_CHARS} random characters or more: "
                "python -c 'import secrets; print(secrets.token_urlsafe(50))'. It ends all logins and keys.",
                id="memos.E006",
            )
        )
    if "*" in settings.ALLOWED_HOSTS:
        found.append(
            Error(
                f"MEMOS_ALLOWED_HOSTS=* believes any Host header ({_why_public()}).",
                hint="Name the hosts under which the server is called.",
                id="memos.E007",
            )
        )
    password = settings.MEMOS_ADMIN_PASSWORD
    if password and (len(password) < MIN_PASSWORD_CHARS or password.lower().startswith(EXAMPLES)):
        found.append(
            Error(
                f"MEMOS_ADMIN_PASSWORD can be guessed ({_why_public()}).",
                hint=f"Give it {MIN_PASSWORD_CHARS} characters or more, or none: the first start makes one.",
                id="memos.E008",
            )
        )
    if settings.MEMOS_PROXIES and not settings.MEMOS_HTTPS:
        found.append(
            Warning(
                "MEMOS_PROXIES is set without MEMOS_HTTPS: who reaches the server past the proxy names any address.",
                hint="Let nobody reach the server but the proxy, and set MEMOS_HTTPS=1 there.",
                id="memos.W004",
            )
        )
    return found


@register(UNSAFE)
def check_contradictions(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Refuse values that are valid alone and wrong together."""
    found: list[CheckMessage] = []
    timeout = settings.MEMOS_JOB_TIMEOUT_SECONDS
    if settings.MEMOS_LLM_ENABLED and timeout / 2 < settings.MEMOS_LLM_TIMEOUT_SECONDS:
        found.append(
            Error(
                f"MEMOS_LLM_TIMEOUT_SECONDS={settings.MEMOS_LLM_TIMEOUT_SECONDS:g} must be at most half of "
                f"MEMOS_JOB_TIMEOUT_SECONDS={timeout}, or the job would end before the fallback summary is made.",
                hint="Lower the first or raise the second.",
                id="memos.E010",
            )
        )
    if settings.MEMOS_TELEMETRY and not has_telemetry():
        found.append(
            Error(
                "MEMOS_TELEMETRY=1 needs packages that are not installed.",
                hint="pip install -r requirements-telemetry.txt, or unset it.",
                id="memos.E014",
            )
        )
    found.extend(
        Error(
            f"MEMOS_POLICY: {key} {problem}",
            hint="Change it, or the value that it names.",
            id="memos.E011",
        )
        for key, problem in contradictions(settings.MEMOS_POLICY).items()
    )
    return found


def has_telemetry() -> bool:
    """Tell whether the packages for MEMOS_TELEMETRY are installed."""
    needed = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http", "opentelemetry.instrumentation.psycopg")
    try:
        return all(find_spec(name) for name in (*needed, "opentelemetry.instrumentation.redis"))
    except ModuleNotFoundError:
        return False


def _is_public() -> bool:
    """Tell whether other machines are meant to reach the server."""
    return bool(settings.MEMOS_HTTPS) or not _is_loopback(settings.MEMOS_HOST)


def _why_public() -> str:
    return "MEMOS_HTTPS=1" if settings.MEMOS_HTTPS else f"MEMOS_HOST={settings.MEMOS_HOST}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@register(Tags.security, deploy=True)
def check_production(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report everything that a server for others must not have."""
    found: list[CheckMessage] = []
    if settings.MEMOS_ANONYMOUS:
        found.append(
            Error(
                "MEMOS_ANONYMOUS opens every memory to everyone.",
                hint="Unset it and issue keys: manage.py issue_api_key NAME.",
                id="memos.E001",
            )
        )
    if settings.MEMOS_EMBEDDING_PROVIDER == "hash":
        found.append(
            Warning(
                "The hash embedding provider does not understand meaning.",
                hint="Set MEMOS_EMBEDDING_PROVIDER=minilm.",
                id="memos.W002",
            )
        )
    return found
