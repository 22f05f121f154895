"""Settings of the whole suite."""

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

from support.model_server import RunningServer

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)  # the same examples each time: red means a change
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def _model_server() -> Generator[RunningServer]:
    with RunningServer.start() as server:
        yield server


@pytest.fixture
def model_server(_model_server: RunningServer) -> RunningServer:
    """A model service on loopback in a process of its own, as new: no faults, no limits, nothing logged."""
    _model_server.reset()
    return _model_server
