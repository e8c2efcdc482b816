"""The token that commands send along."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from loadaware.asking import token_headers
from loadaware.cli import cli
from loadaware.config import PeopleSection
from loadaware.errors import ConfigError
from loadaware.kubectl import plugin
from tests.collectors.fake_api_server import FakeApiServer
from tests.loadaware.decided import ask
from tests.loadaware.running_server import RunningServer, frozen_service

TOKEN = "quite-a-secret"


@pytest.mark.parametrize(("value", "sent"), [("", {}), (" a \n", {"X-Loadaware-Token": "a"})])
def test_the_token_of_the_environment_is_sent_along(
    monkeypatch: pytest.MonkeyPatch, value: str, sent: dict[str, str]
) -> None:
    monkeypatch.setenv("LOADAWARE_TOKEN", value)
    assert token_headers() == sent


def test_a_token_that_cannot_be_sent_is_refused_without_quoting_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADAWARE_TOKEN", "sécret\nsecond line")
    with pytest.raises(ConfigError, match="one line of ASCII") as refused:
        token_headers()
    assert "cret" not in str(refused.value)


def test_a_command_is_let_in_with_the_token_and_told_so_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_SERVERS", TOKEN)
    monkeypatch.delenv("LOADAWARE_TOKEN", raising=False)
    service = frozen_service()
    ask(service, "prioritize", "idle", "near")
    with RunningServer(service, PeopleSection(port=None, token_variable="THE_SERVERS")) as running:
        words = ["explain", "shop/web-1", "--server", running.url]
        refused = CliRunner().invoke(cli, words, prog_name="loadaware")
        assert refused.exit_code == 2 or "a token is needed" in str(refused.exception)
        monkeypatch.setenv("LOADAWARE_TOKEN", TOKEN)
        told = CliRunner().invoke(cli, words, prog_name="loadaware")
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("shop/web-1: idle won")


def test_kubectl_sends_it_through_the_api_server_in_a_header_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOADAWARE_TOKEN", TOKEN)
    place = "/api/v1/namespaces/kube-system/services/loadaware:people/proxy/shadow"
    with FakeApiServer() as server:
        server.answer(place, b'{"mode": "active", "shadows": [], "dropped": 0, "comparisons": []}')
        shown = CliRunner().invoke(plugin, ["shadow", "--kubeconfig", server.kubeconfig(tmp_path), "-o", "json"])
        assert shown.exit_code == 0, shown.output
        assert server.asked(place)[0].headers["x-loadaware-token"] == TOKEN
