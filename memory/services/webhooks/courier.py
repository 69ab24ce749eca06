"""The worker's thread that delivers to webhooks: looks for what is due, and has other threads send it."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from memory.postgresql import reach
from memory.services.webhooks import deliver
from memory.services.webhooks.deliver import Lease

log = logging.getLogger("memos.webhooks")

LOOK_SECONDS = 0.5
# While the database does not answer.
AWAY_SECONDS = 5.0


class Courier:
    """Delivers to as many webhooks at once as it has threads; to one of them, one delivery after the other."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="webhook")
        self._at_work: set[Future[int]] = set()
        self._stops = threading.Event()

    def stop(self) -> None:
        """Ends `run` when what is being sent has been."""
        self._stops.set()

    def run(self) -> None:
        """Delivers until it is stopped. What goes wrong is logged: this process serves every namespace."""
        while not self._stops.is_set():
            pause = LOOK_SECONDS
            try:
                self.look()
            except (DatabaseError, InterfaceError) as error:
                connection.close()
                log.warning("webhooks wait for the database", extra={"reason": type(error).__name__})
                pause = AWAY_SECONDS
            self._stops.wait(pause)
        self._pool.shutdown(wait=True)
        connection.close()

    def look(self) -> int:
        """Gives webhooks that have something to deliver to the threads that are free; returns how many."""
        self._at_work = {one for one in self._at_work if not one.done()}
        free = self._threads - len(self._at_work)
        if free <= 0:
            return 0
        with reach.across_namespaces():
            leases = deliver.claim(limit=free, now=timezone.now())
        self._at_work |= {self._pool.submit(self._serve, lease) for lease in leases}
        return len(leases)

    def _serve(self, lease: Lease) -> int:
        try:
            with reach.within(lease.namespace_id):
                return deliver.deliver_due(lease, clock=timezone.now, stops=self._stops.is_set)
        except Exception:
            # The lease ends by itself, and another turn tries again.
            log.exception("deliveries broke off", extra={"webhook": str(lease.webhook_id)})
            return 0
        finally:
            connection.close()
