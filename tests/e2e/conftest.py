"""What tests of commands share."""

import pytest

from support.model_server import RunningServer


@pytest.fixture
def server(model_server: RunningServer) -> RunningServer:
    """The model service, with a model that judges."""
    model_server.set(brain="support.judging_brain:judge")
    return model_server
