"""Whom commands ask without an address, and what they send along."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from loadaware.asking import default_server, token_headers
from loadaware.cli import cli
from loadaware.config import PeopleSection, TLSSection
from loadaware.errors import ConfigError
from loadaware.kubectl import plugin
from tests.collectors.fake_api_server import FakeApiServer
from tests.loadaware.decided import ask
from tests.loadaware.running_server import RunningServer, frozen_service
from tests.parts.certificates import Authority

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


TLS = {"certFile": "tls.crt", "keyFile": "tls.key"}


@pytest.mark.parametrize(
    ("config", "address"),
    [
        ({}, "http://127.0.0.1:8091"),
        ({"people": {"port": 9001}}, "http://127.0.0.1:9001"),
        ({"people": {"port": None}, "server": {"port": 9000}}, "http://127.0.0.1:9000"),
        ({"people": {"address": "10.0.0.7"}}, "http://10.0.0.7:8091"),
        ({"people": {"address": "fd00::7"}}, "http://[fd00::7]:8091"),
        ({"server": {"address": "::"}}, "http://[::1]:8091"),
        ({"server": {"tls": TLS}}, "https://127.0.0.1:8091"),
    ],
)
def test_without_an_address_the_one_is_asked_that_the_environments_configuration_describes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: dict[str, object], address: str
) -> None:
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    monkeypatch.setenv("LOADAWARE_CONFIG", str(tmp_path / "config.yaml"))
    assert default_server() == address


def test_without_an_address_and_a_configuration_the_demo_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOADAWARE_CONFIG", raising=False)
    assert default_server() == "http://127.0.0.1:8090"


ASKING = (["explain", "shop/web-1"], ["shadow"], ["demand"])


@pytest.mark.parametrize(
    ("words", "answer"),
    [(ASKING[0], "idle won"), (ASKING[1], "mode"), (ASKING[2], "nothing is learned yet")],
)
def test_a_command_finds_a_server_behind_https_by_the_configuration_and_the_files_that_are_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], answer: str
) -> None:
    authority = Authority(tmp_path / "authority", "authority")
    pair, ours = authority.issue("extender"), authority.issue("person")
    trusted = str(authority.certificate)
    tls = TLSSection(cert_file=str(pair.certificate), key_file=str(pair.key), client_ca_file=trusted)
    service = frozen_service()
    ask(service, "prioritize", "idle", "near")
    files = ["--ca-file", trusted, "--cert-file", str(ours.certificate), "--key-file", str(ours.key)]
    with RunningServer(service, tls=tls) as running:
        config = {"people": {"port": None}, "server": {"port": running.address[1], "tls": TLS}}
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
        monkeypatch.setenv("LOADAWARE_CONFIG", str(tmp_path / "config.yaml"))
        told = CliRunner().invoke(cli, [*words, *files], prog_name="loadaware")
        unknown = CliRunner().invoke(cli, words, prog_name="loadaware")
    assert answer in told.output
    assert "certificate verify failed" in f"{unknown.output}{unknown.exception}"


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ca-file", "ca.crt"], "are for an https --server"),
        (["--server", "https://127.0.0.1:8091", "--key-file", "tls.key"], "--key-file needs --cert-file"),
    ],
)
def test_files_that_would_not_be_used_are_refused(
    monkeypatch: pytest.MonkeyPatch, words: list[str], options: list[str], message: str
) -> None:
    monkeypatch.delenv("LOADAWARE_CONFIG", raising=False)
    refused = CliRunner().invoke(cli, [*words, *options], prog_name="loadaware")
    assert refused.exit_code == 2
    assert message in refused.output
