"""What a backup or a restore can be refused for. Each kind is an exit status of the commands."""

from __future__ import annotations

from memory.errors import MemosError


class BackupError(MemosError):
    """It could not be carried out: a tool is missing, the disk is full, the server does not allow it."""

    code = "backup_failed"
    returncode = 1


class BackupDamaged(BackupError):
    """The file is no backup, was cut off or altered, or is encrypted with another key."""

    code = "backup_damaged"
    returncode = 3


class RestoreRefused(BackupError):
    """Nothing was touched: restoring here would lose something, or bring back what was forgotten."""

    status = 409
    code = "restore_refused"
    returncode = 4


class BackupUnverified(BackupError):
    """What the file restores is not what was backed up."""

    code = "backup_unverified"
    returncode = 5
