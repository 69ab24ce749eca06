"""Explains failures of a chat model: which model, why, and the remedy, without the request's content or the key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from django.utils import timezone

from memory.errors import LLMContextTooLong, LLMRefused, LLMTimeout, LLMUnavailable

# Upper limit for a provider's retry-after.
MAX_RETRY_SECONDS = 3600

_TOO_LONG = re.compile(
    r"context[ _](length|size|window)|maximum context|prompt is too long|input (is )?too long|too many tokens"
    r"|range of input length|max_model_len|exceeds? the available context",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint as named in messages, with the settings that fix its key and its address."""

    provider: str
    model: str
    base_url: str
    key_setting: str
    url_setting: str

    @property
    def label(self) -> str:
        return f"{self.provider}/{self.model}"

    @property
    def address(self) -> str:
        """The address without user name and password."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@contextmanager
def explain_failures(endpoint: Endpoint, *, late: str, prompt_tokens: int) -> Iterator[None]:
    """Turn what a call in the block raises into LLMUnavailable.

    `late` says what took too long, and which setting limits it. `prompt_tokens` is an estimate of what was sent.
    """
    import httpx2  # noqa: PLC0415 - imported together with openai
    import openai  # noqa: PLC0415 - takes half a second to import

    try:
        yield
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        if isinstance(error.__cause__ or error, httpx2.ConnectTimeout):
            raise _no_answer(endpoint, error) from error
        raise LLMTimeout(f"{endpoint.label} {late}, or choose a faster model.") from error
    except openai.APIStatusError as error:
        raise _refusal(endpoint, error, prompt_tokens) from error
    except (openai.APIConnectionError, httpx2.TransportError) as error:
        raise _no_answer(endpoint, error) from error
    except (openai.OpenAIError, httpx2.HTTPError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise LLMUnavailable(no_completion(endpoint)) from error


def _no_answer(endpoint: Endpoint, error: Exception) -> LLMUnavailable:
    cause = type(error.__cause__ or error).__name__
    return LLMUnavailable(
        f"{endpoint.label} does not answer at {endpoint.address} ({cause}): check that it runs, and "
        f"{endpoint.url_setting}."
    )


def no_completion(endpoint: Endpoint) -> str:
    return (
        f"{endpoint.label} answered something else than a chat completion: check that {endpoint.address} is its "
        f"OpenAI-compatible address, which mostly ends with /v1 ({endpoint.url_setting})."
    )


def _refusal(endpoint: Endpoint, error: Any, prompt_tokens: int) -> LLMUnavailable:
    """Explain a status of 400 or more, without the provider's own words, which may quote texts and keys."""
    status: int = error.status_code
    label = endpoint.label
    if status in (401, 403):
        return LLMUnavailable(f"{label} does not accept the key ({status}): {_mend_key(endpoint)}.")
    if status == 404:
        return LLMUnavailable(
            f"{label} is not known at {endpoint.address} (404): check the model's name in MEMOS_LLM_MODEL, or where "
            f"the purpose or the policy names one, and {endpoint.url_setting}."
        )
    if status == 429:
        seconds = retry_after_of(error.response.headers)
        return LLMUnavailable(
            f"{label} takes no more requests now (429{_code(error)}): try again in {seconds} s; when it lasts, raise "
            f"the limits or the balance of the account behind {endpoint.key_setting or endpoint.address}.",
            retry_after=seconds,
        )
    if status in (400, 413, 422):
        if status == 413 or _TOO_LONG.search(str(error.body or error.message)):
            return LLMContextTooLong(
                f"{label} takes fewer tokens than the about {prompt_tokens} that it was sent: hand over less "
                "(a smaller top_k or budget, fewer messages, a shorter max_tokens), or choose a model with a longer "
                "context.",
                detail={"prompt_tokens": prompt_tokens},
            )
        return LLMRefused(
            f"{label} refuses the request ({status}{_code(error)}): choose a model that takes chat completions "
            "and JSON by a schema; `manage.py doctor` says what it takes."
        )
    seconds = retry_after_of(error.response.headers)
    return LLMUnavailable(
        f"{label} failed ({status}{_code(error)}): that is the provider's own fault; look at its log or status page.",
        retry_after=seconds,
    )


def _mend_key(endpoint: Endpoint) -> str:
    if endpoint.key_setting:
        return f"check {endpoint.key_setting}"
    return (
        f"none is sent to the provider {endpoint.provider!r}; for an endpoint that wants one set "
        "MEMOS_LLM_PROVIDER=openai, MEMOS_LLM_BASE_URL and MEMOS_LLM_API_KEY"
    )


def _code(error: Any) -> str:
    """Return the provider's error code with a leading space if it is a single word, else ""."""
    code = str(getattr(error, "code", None) or "")
    return f" {code}" if _CODE.fullmatch(code) else ""


def retry_after_of(headers: Mapping[str, str]) -> int:
    """Return the retry-after header, a number of seconds or a date (RFC 9110), as seconds from 1 to the maximum."""
    said = headers.get("retry-after", "").strip()
    try:
        seconds = float(said) if said[:1].isdigit() else _until(said)
    except (TypeError, ValueError, OverflowError):
        return 1
    return int(min(max(seconds, 1), MAX_RETRY_SECONDS))


def _until(date: str) -> float:
    moment = parsedate_to_datetime(date)
    if moment.tzinfo is None:
        raise ValueError("a date without an offset")
    return (moment - timezone.now()).total_seconds()
