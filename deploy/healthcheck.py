"""Reports the health of a container by its exit status: `python -m deploy.healthcheck web|worker`."""

from __future__ import annotations

import os
import socket
import sys
import urllib.request

READY_PATH = "/health/ready"


def check_web() -> None:
    """Raise unless the web server answers that it and the services it needs are ready."""
    # A proxy from the environment is for outgoing requests, not for this container.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(f"http://127.0.0.1:{os.environ.get('MEMOS_PORT') or 8000}{READY_PATH}", timeout=5).close()


def check_worker() -> None:
    """Raise unless this container's worker has reported to Redis in the last three seconds."""
    from django_q.brokers import Broker  # noqa: PLC0415 - reads the settings
    from django_q.status import Stat  # noqa: PLC0415

    if socket.gethostname() not in {stat.host for stat in Stat.get_all(Broker())}:
        raise RuntimeError("the worker does not report itself")


if __name__ == "__main__":
    {"web": check_web, "worker": check_worker}[sys.argv[1]]()
