"""A Ray cluster of this machine, started however busy the machine is."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.waiting import until


@contextmanager
def cluster(cpus: int) -> Iterator[None]:
    """Ray, initialised for the tests inside.

    Ray gives each of its processes 15 seconds to start, and its own start fails where a busy machine takes longer: then it
    is started again. No setting of Ray changes these seconds.
    """
    ray = pytest.importorskip("ray", reason="the cluster extra is not installed")
    failed: list[Exception] = []

    def started() -> bool:
        try:
            ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            failed.append(error)
            ray.shutdown()
            return False
        return True

    try:
        assert until(started), failed
        yield
    finally:
        ray.shutdown()
