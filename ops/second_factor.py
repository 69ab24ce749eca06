"""The second factor of staff: time-based one-time codes (RFC 6238) by django-otp, and backup codes."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b32encode

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

NAME = "app"
BACKUP_CODES = 10
# 50 random bits per code cannot be guessed in the ten attempts before a lockout.
BACKUP_BYTES = 5
# The HMAC is cut to as many hexadecimal digits as the column holds.
_STORED_CHARS = 16


def is_set_up(user: User) -> bool:
    """Return whether the account has a second factor."""
    return TOTPDevice.objects.filter(user=user, confirmed=True).exists()


def verify(user: User, token: str) -> Device | None:
    """Return the device that accepts `token`: the app for digits, or else the backup codes, which are used up."""
    token = token.replace(" ", "").replace("-", "")
    if not token:
        return None
    by_app = token.isascii() and token.isdecimal()
    device_class = TOTPDevice if by_app else StaticDevice
    with transaction.atomic():
        for device in device_class.objects.select_for_update().filter(user=user, confirmed=True):
            if device.verify_token(token if by_app else _hash_code(token)):
                return device
    return None


def begin(user: User) -> TOTPDevice:
    """Create a new key, which takes effect when a code of it is confirmed. An unconfirmed one is replaced."""
    with transaction.atomic():
        TOTPDevice.objects.filter(user=user, confirmed=False).delete()
        return TOTPDevice.objects.create(user=user, name=NAME, confirmed=False)


def find_begun(user: User) -> TOTPDevice | None:
    """Return the key that awaits its first code."""
    return TOTPDevice.objects.filter(user=user, confirmed=False).first()


def confirm(user: User, token: str) -> tuple[TOTPDevice, list[str]] | None:
    """Confirm the new key by its first code; return the device and the backup codes, or None if the code is wrong."""
    with transaction.atomic():
        device = TOTPDevice.objects.select_for_update().filter(user=user, confirmed=False).first()
        if device is None or not device.verify_token(token.replace(" ", "")):
            return None
        TOTPDevice.objects.filter(user=user, confirmed=True).delete()
        device.confirmed = True
        device.save(update_fields=["confirmed"])
        return device, renew_backup_codes(user)


def renew_backup_codes(user: User) -> list[str]:
    """Replace all backup codes; return the new ones, of which only an HMAC is stored."""
    codes = [b32encode(secrets.token_bytes(BACKUP_BYTES)).decode().lower() for _ in range(BACKUP_CODES)]
    with transaction.atomic():
        StaticDevice.objects.filter(user=user).delete()
        device = StaticDevice.objects.create(user=user, name="backup", confirmed=True)
        StaticToken.objects.bulk_create([StaticToken(device=device, token=_hash_code(code)) for code in codes])
    return codes


def count_backup_codes_left(user: User) -> int:
    """Return the number of unused backup codes."""
    return StaticToken.objects.filter(device__user=user).count()


def remove(user: User) -> bool:
    """Delete key and backup codes. Returns False if there were none."""
    with transaction.atomic():
        StaticDevice.objects.filter(user=user).delete()
        return bool(TOTPDevice.objects.filter(user=user).delete()[0])


def qr_code(device: TOTPDevice) -> str:
    """Return the key as a QR code: an SVG without styles and scripts, as the content security policy requires."""
    import segno  # noqa: PLC0415 - for those who set one up

    return segno.make(device.config_url, error="m", micro=False).svg_inline(
        scale=5, border=4, dark="#000", light="#fff", title="QR"
    )


def key_in_words(device: TOTPDevice) -> str:
    """Return the key in base32, in groups of four, for typing."""
    key = b32encode(device.bin_key).decode().rstrip("=")
    return " ".join(key[at : at + 4] for at in range(0, len(key), 4))


def _hash_code(code: str) -> str:
    made = hmac.new(settings.MEMOS_KEY_PEPPER.encode(), b"backup-code:" + code.lower().encode(), hashlib.sha256)
    return made.hexdigest()[:_STORED_CHARS]
