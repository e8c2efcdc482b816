"""The transport under collectors that read from the web: who we say we are, whom we trust, how long we wait."""

import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collectors.errors import SourceUnreachableError
from collectors.http_access import HttpAccess, base_url
from collectors.http_session import HttpSession
from tests.collectors.fake_prometheus import FakePrometheus, Reply
from tests.parts.certificates import Authority

SECRET = "sesame-open-thyself"
HELLO = Reply(body="hello", content_type="text/plain")


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with FakePrometheus() as server:
        yield server.serves("/hello", HELLO)


@pytest.fixture
def opened() -> Iterator[Callable[..., HttpSession]]:
    made: list[HttpSession] = []

    def make(url: str, **access: object) -> HttpSession:
        made.append(HttpSession(url, HttpAccess(**access)))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for session in made:
        session.close()


Opened = Callable[..., HttpSession]


# -- Credentials -----------------------------------------------------------------------------------------------------


def test_a_bearer_token_is_read_anew_for_every_request(fake: FakePrometheus, opened: Opened, tmp_path: Path) -> None:
    token = tmp_path / "token"
    session = opened(fake.url, bearer_token_file=token)
    for secret in ("first-secret", "second-secret"):
        token.write_text(secret + "\n")
        session.fetch("GET", fake.url + "/hello")
        assert fake.requests[-1].headers["authorization"] == f"Bearer {secret}"


def test_basic_auth_and_extra_headers_are_sent(fake: FakePrometheus, opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3cret\n")
    headers = {"X-Scope-OrgID": "team-a"}
    session = opened(fake.url, username="anna", password_file=tmp_path / "password", headers=headers)
    session.fetch("POST", fake.url + "/hello", {"query": "up"})
    seen = fake.requests[-1]
    assert seen.headers["authorization"] == "Basic YW5uYTpzM2NyZXQ="
    assert seen.headers["x-scope-orgid"] == "team-a"
    assert seen.fields == {"query": "up"}


def test_a_netrc_file_is_left_alone(
    fake: FakePrometheus, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    opened(fake.url).fetch("GET", fake.url + "/hello")
    assert "authorization" not in fake.requests[-1].headers


@pytest.mark.parametrize("content", [b"", b"two\nlines-of-secret", b"secret with spaces", b"\xff\xfesecret"])
def test_an_unusable_token_file_is_an_error_that_does_not_quote_it(
    fake: FakePrometheus, opened: Opened, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(SourceUnreachableError, match=r"credentials: .*token") as caught:
        opened(fake.url, bearer_token_file=tmp_path / "token").fetch("GET", fake.url + "/hello")
    assert "secret" not in str(caught.value)
    assert fake.requests == []


def test_an_absent_token_file_is_an_error_that_names_it(fake: FakePrometheus, opened: Opened, tmp_path: Path) -> None:
    with pytest.raises(SourceUnreachableError, match="absent cannot be read: No such file"):
        opened(fake.url, bearer_token_file=tmp_path / "absent").fetch("GET", fake.url + "/hello")


@pytest.mark.parametrize("echo", ["{secret} is not welcome", "x" * 290 + "{secret}", "<title>{secret}</title>"])
@pytest.mark.parametrize("way", ["token", "password", "header"])
def test_a_secret_that_the_source_repeats_is_not_passed_on(
    fake: FakePrometheus, opened: Opened, tmp_path: Path, caplog: pytest.LogCaptureFixture, *, echo: str, way: str
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "secret").write_text(SECRET)
    ways: dict[str, dict[str, object]] = {
        "token": {"bearer_token_file": tmp_path / "secret"},
        "password": {"username": "anna", "password_file": tmp_path / "secret"},
        "header": {"headers": {"X-Api-Key": SECRET}},
    }
    session = opened(fake.url, **ways[way])
    fake.serves("/hello", Reply(403, echo.format(secret=SECRET)))
    error = session.refusal(session.fetch("GET", fake.url + "/hello"))
    told = "".join(traceback.format_exception(error)) + repr(error) + repr(session.access)
    assert "sesame" not in told + caplog.text
    assert error.status == 403


# -- TLS -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"), "authority")


@pytest.fixture
def encrypted(authority: Authority) -> Iterator[FakePrometheus]:
    pair = authority.issue("server")
    with FakePrometheus(pair.certificate, pair.key) as server:
        yield server.serves("/hello", HELLO)


def test_a_ca_file_is_trusted_whatever_the_environment_says(
    encrypted: FakePrometheus,
    opened: Opened,
    authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(Authority(tmp_path, "other").certificate))
    session = opened(encrypted.url, ca_file=authority.certificate)
    assert session.fetch("GET", encrypted.url + "/hello").body == b"hello"


def test_the_environment_s_ca_is_trusted_if_none_is_given(
    encrypted: FakePrometheus, opened: Opened, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.certificate))
    assert opened(encrypted.url).fetch("GET", encrypted.url + "/hello").body == b"hello"


def test_verification_can_be_switched_off(
    encrypted: FakePrometheus, opened: Opened, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(Authority(tmp_path, "other").certificate))
    session = opened(encrypted.url, insecure_skip_verify=True)
    assert session.fetch("GET", encrypted.url + "/hello").body == b"hello"


def test_proxies_of_the_environment_hold_with_a_ca_of_its_own_too(
    opened: Opened, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    assert opened("https://outside.example", ca_file=authority.certificate).proxies["https"]
    assert not opened("https://inside.example", ca_file=authority.certificate).proxies


def test_loopback_is_reached_directly_though_a_proxy_is_set(
    fake: FakePrometheus, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert opened("http://outside.example").proxies["http"] == "http://proxy.invalid:3128"
    assert opened(fake.url).fetch("GET", fake.url + "/hello").body == b"hello"


def test_a_stranger_s_certificate_is_refused(encrypted: FakePrometheus, opened: Opened, tmp_path: Path) -> None:
    session = opened(encrypted.url, ca_file=Authority(tmp_path, "other").certificate)
    with pytest.raises(SourceUnreachableError, match="certificate verify failed"):
        session.fetch("GET", encrypted.url + "/hello")


def test_a_client_certificate_is_shown(opened: Opened, authority: Authority) -> None:
    server, client = authority.issue("server"), authority.issue("client")
    trust = {"ca_file": authority.certificate}
    with FakePrometheus(server.certificate, server.key, client_ca=authority.certificate) as fake:
        fake.serves("/hello", HELLO)
        shown = opened(fake.url, **trust, client_certificate_file=client.certificate, client_key_file=client.key)
        assert shown.fetch("GET", fake.url + "/hello").body == b"hello"
        with pytest.raises(SourceUnreachableError):
            opened(fake.url, **trust).fetch("GET", fake.url + "/hello")


def test_a_missing_ca_file_is_a_collector_error(encrypted: FakePrometheus, opened: Opened, tmp_path: Path) -> None:
    with pytest.raises(SourceUnreachableError, match=r"absent\.crt"):
        opened(encrypted.url, ca_file=tmp_path / "absent.crt").fetch("GET", encrypted.url + "/hello")


# -- Bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reply", [Reply(silent=True), Reply(trickling=True)], ids=["silent", "trickling"])
def test_a_slow_source_is_given_up_after_the_timeout(fake: FakePrometheus, opened: Opened, reply: Reply) -> None:
    fake.serves("/hello", reply)
    with pytest.raises(SourceUnreachableError, match=r"no whole answer within 0\.2 s"):
        opened(fake.url, timeout_seconds=0.2).fetch("GET", fake.url + "/hello")


def test_an_answer_beyond_all_bounds_is_not_read_to_its_end(
    fake: FakePrometheus, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.http_session.LARGEST_ANSWER_BYTES", 1000)
    fake.serves("/hello", Reply(body=" " * 2000))
    with pytest.raises(SourceUnreachableError, match="longer than 1000 bytes"):
        opened(fake.url).fetch("GET", fake.url + "/hello")


def test_an_answer_that_breaks_off_is_no_answer(fake: FakePrometheus, opened: Opened) -> None:
    fake.serves("/hello", Reply(body="hal", broken=True))
    with pytest.raises(SourceUnreachableError, match="IncompleteRead"):
        opened(fake.url).fetch("GET", fake.url + "/hello")


def test_a_redirect_is_not_followed(fake: FakePrometheus, opened: Opened) -> None:
    fake.serves("/hello", Reply(307, headers={"Location": f"{fake.url}/elsewhere"}))
    session = opened(fake.url)
    answer = session.fetch("POST", fake.url + "/hello", {"query": "up"})
    assert session.refusal(answer).message == f"a redirect to {fake.url}/elsewhere"
    assert len(fake.requests) == 1


# -- Settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ({"timeout_seconds": 0}, "must be positive"),
        ({"bearer_token_file": "t", "username": "a", "password_file": "p"}, "exclude each other"),
        ({"username": "a"}, "go together"),
        ({"client_key_file": "k"}, "needs its client certificate"),
        ({"headers": {"X Y": "1"}}, "no name of an HTTP header"),
        ({"headers": {"X-Key": "secret\r\nHost: evil"}}, "one line of ASCII"),
    ],
)
def test_access_that_contradicts_itself_is_refused(access: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        HttpAccess(**access)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)


def test_an_address_loses_its_trailing_slash() -> None:
    assert base_url("https://host:1/prefix/") == "https://host:1/prefix"
