"""Reads typed configuration from the environment, failing loudly; every setting describes itself.

`settings.py` declares each setting once by calling a reader below. The declaration contains its default and its help,
so that docs/reference/settings.md and `.env.example` are generated from it (`manage.py config_docs`). A secret `NAME`
may also come from the file that `NAME_FILE` points to (Docker and Kubernetes secrets).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from memory.removed_settings import FIXED

# The tag of system checks of unsafe or contradictory settings; with such an error, neither manage.py nor the web server
# starts.
UNSAFE = "memos_unsafe"

PREFIX = "MEMOS_"
FLAGS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)
# Names with the prefix that aren't read by the server but by clients, the Compose files and measuring programs.
_NOT_OF_THE_SERVER = frozenset(
    "MEMOS_URL MEMOS_API_KEY MEMOS_NAMESPACE MEMOS_BIND MEMOS_CPUS MEMOS_VERSION MEMOS_PASSWORD MEMOS_EXAMPLES "
    "MEMOS_VLLM_PYTHON".split()
)


class ConfigurationError(ValueError):
    """Raised for an unusable value of a setting; the message names the setting and the expected form."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A documented setting: `name` in the environment, `kind`, displayed `default`, `help` and `section`."""

    name: str
    kind: str
    default: str
    help: str
    section: str
    secret: bool = False


def describe(choices: Mapping[str, str]) -> str:
    """Return the choices of a setting as `name` (description), … ."""
    return ", ".join(f"`{name}` ({what})" for name, what in choices.items())


class Environment:
    """Typed readers over a mapping of environment variables.

    `declared` collects the settings in order, and `known` all names that are read, including older ones and those of
    files.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = os.environ if values is None else values
        self._section = "General"
        self.declared: list[Setting] = []
        self.known: set[str] = set()

    def section(self, title: str) -> None:
        """Start a section: settings declared from here on are documented under `title`."""
        self._section = title

    def find_unknown(self) -> dict[str, str]:
        """Return unread variables that begin with MEMOS_ or once were settings, with the nearest setting ("" if none).

        It must be called after the last declaration.
        """
        unknown = [name for name in self._values if name.upper().startswith(PREFIX) or name in FIXED]
        return {
            name: self._find_nearest(name)
            for name in sorted(unknown)
            if name not in self.known and name not in _NOT_OF_THE_SERVER
        }

    def _find_nearest(self, name: str) -> str:
        wanted = name.upper()
        bare = wanted.removeprefix(PREFIX)
        if bare in self.known:
            return bare
        near = get_close_matches(bare, [one.removeprefix(PREFIX) for one in self.known], n=1, cutoff=0.7)
        return next((one for one in sorted(self.known) if near and one.removeprefix(PREFIX) == near[0]), "")

    def text(
        self,
        name: str,
        default: str,
        help: str,
        *,
        choices: tuple[str, ...] = (),
        secret: bool = False,
        alias: str = "",
        shown: str | None = None,
    ) -> str:
        """Read a string; `choices` limits it, `alias` is an older name, `shown` replaces the default in the docs."""
        kind = " \\| ".join(choices) if choices else "secret" if secret else "text"
        value = self._read(name, kind, default if shown is None else shown, help, secret=secret, alias=alias)
        value = default if value is None else value
        if choices and value not in choices:
            raise ConfigurationError(f"{name}={value!r} is not one of: {', '.join(choices)}")
        return value

    def flag(self, name: str, default: bool, help: str) -> bool:
        """Read a boolean: 1/0, true/false, yes/no, on/off."""
        value = self._read(name, "0 \\| 1", "1" if default else "0", help)
        if value is None:
            return default
        if (read := FLAGS.get(value.strip().lower())) is None:
            raise ConfigurationError(f"{name}={value!r} is not a yes or a no: use 1 or 0")
        return read

    def integer(
        self,
        name: str,
        default: int,
        help: str,
        *,
        minimum: int = 0,
        maximum: int = 2**31 - 1,
        alias: str = "",
        shown: str | None = None,
    ) -> int:
        """Read a whole number between `minimum` and `maximum`; `shown` replaces the default in the docs."""
        kind = f"{minimum}..{maximum}" if maximum < 2**31 - 1 else f"≥ {minimum}"
        value = self._read(name, kind, str(default) if shown is None else shown, help, alias=alias)
        if value is None:
            return default
        try:
            number = int(value)
        except ValueError:
            raise ConfigurationError(f"{name}={value!r} is not a whole number") from None
        if not minimum <= number <= maximum:
            raise ConfigurationError(f"{name}={number} is outside {minimum}..{maximum}")
        return number

    def number(self, name: str, default: float, help: str, *, minimum: float = 0.0, maximum: float = 1e9) -> float:
        """Read a number between `minimum` and `maximum`."""
        value = self._read(name, f"{minimum:g}..{maximum:g}", f"{default:g}", help)
        if value is None:
            return default
        try:
            parsed = float(value)
        except ValueError:
            raise ConfigurationError(f"{name}={value!r} is not a number") from None
        if not minimum <= parsed <= maximum:
            raise ConfigurationError(f"{name}={value} is outside {minimum:g}..{maximum:g}")
        return parsed

    def words(self, name: str, default: str, help: str) -> list[str]:
        """Read a comma-separated list."""
        value = self._read(name, "comma-separated", default, help)
        return [word.strip() for word in (default if value is None else value).split(",") if word.strip()]

    def pairs(self, name: str, help: str, *, choices: tuple[str, ...] = ()) -> dict[str, str]:
        """Read a comma-separated list of `key=value`; `choices` limits the values."""
        pairs: dict[str, str] = {}
        for word in self.words(name, "", help):
            key, sign, value = (part.strip() for part in word.partition("="))
            if not (key and sign and value):
                raise ConfigurationError(f"{name}: {word!r} is not of the form key=value")
            if choices and value not in choices:
                raise ConfigurationError(f"{name}: {word!r} names none of: {', '.join(choices)}")
            pairs[key] = value
        return pairs

    def _read(
        self, name: str, kind: str, default: str, help: str, *, secret: bool = False, alias: str = ""
    ) -> str | None:
        shown = f"{help} Also read as `{alias}`." if alias else help
        self.declared.append(Setting(name, kind, default, shown, self._section, secret))
        self.known |= {name, *([alias] if alias else []), *([f"{name}_FILE"] if secret else [])}
        value = self._values.get(name) or (self._values.get(alias) if alias else None)
        file = self._values.get(f"{name}_FILE")
        if secret and file:
            if value:
                raise ConfigurationError(f"{name} and {name}_FILE are both set: keep one")
            try:
                return Path(file).read_text(encoding="utf-8").strip()
            except OSError as error:
                raise ConfigurationError(f"{name}_FILE={file!r} cannot be read: {error.strerror}") from error
        return value or None
