import datetime as dt
import ipaddress
import json
import logging
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.errors import SourceRefusedError, SourceUnreachableError
from collectors.kubernetes_api import Credentials, KubernetesApi
from tests.collectors.fake_api_server import (
    FakeApiServer,
    status_of,
    write_kubeconfig,
)
from tests.parts.processes import PATIENCE_SECONDS


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


@pytest.fixture
def api(server: FakeApiServer, tmp_path: Path) -> Iterator[KubernetesApi]:
    with server.api(tmp_path, token="a-secret-token") as api:
        yield api


def url_found(credentials: Credentials) -> str:
    with KubernetesApi(credentials) as api:
        return api.url


# -- Requests -------------------------------------------------------------------------------------------------


def test_get_returns_the_raw_body_and_sends_query_and_token(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer("/api/v1/nodes", b'{"items": [ ]}')
    assert api.get("/api/v1/nodes", {"limit": 500, "fieldSelector": "a!=b,c!=d"}) == b'{"items": [ ]}'
    asked = server.requests[0]
    assert asked.query == {"limit": "500", "fieldSelector": "a!=b,c!=d"}
    assert asked.headers["authorization"] == "Bearer a-secret-token"
    assert asked.headers["user-agent"] == "loadaware"


def test_post_sends_json_and_returns_the_raw_body(server: FakeApiServer, api: KubernetesApi) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    server.answer(path, b'{"status": {"allowed": true}}', status=201)
    assert api.post(path, b'{"spec": {}}') == b'{"status": {"allowed": true}}'
    assert server.requests[0].body == b'{"spec": {}}'
    assert server.requests[0].headers["content-type"] == "application/json"


def test_a_large_body_arrives_whole(server: FakeApiServer, api: KubernetesApi) -> None:
    body = b"x" * 5_000_000
    server.answer("/large", body)
    assert api.get("/large") == body


def test_connections_are_kept_and_closed_with_the_api(server: FakeApiServer, tmp_path: Path) -> None:
    server.answer("/api", b"{}")
    with server.api(tmp_path) as api:
        for _ in range(3):
            assert api.get("/api") == b"{}"
    assert len({asked.port for asked in server.requests}) == 1


def test_url_is_the_address_without_user_information(tmp_path: Path) -> None:
    file = write_kubeconfig(tmp_path / "k", "https://me:hidden@example.test:6443/cluster/")
    assert url_found(Credentials(str(file))) == "https://example.test:6443/cluster"


# -- Refusals and failures ------------------------------------------------------------------------------------


def test_a_refusal_carries_the_status_and_the_words_of_the_api_server(
    server: FakeApiServer, api: KubernetesApi
) -> None:
    server.answer("/api/v1/pods", status_of(403, 'pods is forbidden: User "x" cannot list'), status=403)
    with pytest.raises(SourceRefusedError) as caught:
        api.get("/api/v1/pods", {"limit": 1})
    assert caught.value == SourceRefusedError(
        f"{server.url}/api/v1/pods", 403, 'pods is forbidden: User "x" cannot list'
    )


@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b"", b"[]", b'{"message": 3}'])
def test_a_refusal_without_a_status_body_carries_the_reason_phrase(
    server: FakeApiServer, api: KubernetesApi, body: bytes
) -> None:
    server.answer("/api", body, status=502)
    with pytest.raises(SourceRefusedError, match="answered 502: Bad Gateway"):
        api.get("/api")


def test_a_refusal_is_kept_to_one_line(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer("/api", status_of(500, "one\ntwo " + "x" * 5000), status=500)
    with pytest.raises(SourceRefusedError) as caught:
        api.get("/api")
    assert caught.value.message.startswith("one two xxx")
    assert len(caught.value.message) < 400


def test_a_redirect_is_not_followed(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer("/api", b"", status=302)
    with pytest.raises(SourceRefusedError, match="answered 302"):
        api.get("/api")


def test_nothing_is_retried(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer("/api", b"0123456789", cut=True)
    with pytest.raises(SourceUnreachableError):
        api.get("/api")
    server.answer("/other", status_of(503, "later"), status=503)
    with pytest.raises(SourceRefusedError):
        api.get("/other")
    assert [asked.path for asked in server.requests] == ["/api", "/other"]


def test_a_closed_port_is_unreachable_in_plain_words(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    file = write_kubeconfig(tmp_path / "k", f"http://127.0.0.1:{port}")
    with KubernetesApi(Credentials(str(file))) as api, pytest.raises(SourceUnreachableError) as caught:
        api.get("/api")
    assert str(caught.value) == f"http://127.0.0.1:{port}/api cannot be reached: Connection refused"


def test_a_silent_server_is_unreachable_after_the_timeout(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        file = write_kubeconfig(tmp_path / "k", f"http://127.0.0.1:{listener.getsockname()[1]}")
        with (
            KubernetesApi(Credentials(str(file))) as api,
            pytest.raises(SourceUnreachableError, match="no answer in time"),
        ):
            api.get("/api", timeout_seconds=0.05)


@pytest.mark.parametrize(
    ("address", "problem"),
    [("http://[::bad", "cannot be used"), ("http://x.test:99999999", "its address cannot be parsed")],
)
def test_an_address_that_cannot_be_parsed_is_unreachable(tmp_path: Path, address: str, problem: str) -> None:
    file = write_kubeconfig(tmp_path / "k", address)
    with KubernetesApi(Credentials(str(file))) as api, pytest.raises(SourceUnreachableError, match=problem):
        api.get("/api")


def test_a_proxy_of_an_unknown_kind_is_told(tmp_path: Path) -> None:
    file = write_kubeconfig(tmp_path / "k", "http://x.test", {"proxy-url": "ftp://me:hidden@y.test"})
    with (
        KubernetesApi(Credentials(str(file))) as api,
        pytest.raises(SourceUnreachableError, match="the client cannot be set up") as caught,
    ):
        api.get("/api")
    assert "hidden" not in str(caught.value)


# -- Streams --------------------------------------------------------------------------------------------------


def test_a_stream_gives_one_line_at_a_time_however_the_bytes_arrive(server: FakeApiServer, api: KubernetesApi) -> None:
    with api.stream("/api/v1/pods", {"watch": "true"}) as stream:
        fake = server.next_stream()
        for piece in (b'{"a": 1}\n{"b"', b": 2}", b'\n\n{"c": 3}\n'):
            fake.send_bytes(piece)
        fake.end()
        assert list(stream) == [b'{"a": 1}', b'{"b": 2}', b'{"c": 3}']


def test_a_stream_that_the_server_cuts_raises_and_never_gives_half_a_line(
    server: FakeApiServer, api: KubernetesApi
) -> None:
    with api.stream("/api/v1/pods", {"watch": "true"}) as stream:
        fake = server.next_stream()
        fake.send_bytes(b'{"a": 1}\n{"half":')
        fake.drop()
        lines = iter(stream)
        assert next(lines) == b'{"a": 1}'
        with pytest.raises(SourceUnreachableError) as caught:
            next(lines)
    assert caught.value.url == f"{server.url}/api/v1/pods"


def test_half_a_line_before_a_proper_end_is_not_given_out(server: FakeApiServer, api: KubernetesApi) -> None:
    with api.stream("/api/v1/pods", {"watch": "true"}) as stream:
        fake = server.next_stream()
        fake.send_bytes(b'{"a": 1}\n{"half":')
        fake.end()
        assert list(stream) == [b'{"a": 1}']


def test_a_stream_may_be_refused(server: FakeApiServer, api: KubernetesApi) -> None:
    server.refuse_watch(410, "too old resource version")
    with pytest.raises(SourceRefusedError, match="410: too old resource version"):
        api.stream("/api/v1/pods", {"watch": "true"})


def test_a_silent_stream_is_lost_after_its_timeout(server: FakeApiServer, api: KubernetesApi) -> None:
    with (
        pytest.raises(SourceUnreachableError, match="no answer in time"),
        api.stream("/api/v1/pods", {"watch": "true"}, timeout_seconds=0.5) as stream,
    ):
        list(stream)


def close_while_another_thread_waits(server: FakeApiServer, api: KubernetesApi) -> list[bytes]:
    lines: list[bytes] = []
    heard = threading.Event()

    def read() -> None:
        with stream:
            for line in stream:
                lines.append(line)
                heard.set()

    stream = api.stream("/api/v1/pods", {"watch": "true"}, timeout_seconds=60)
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    server.next_stream().send_bytes(b"{}\n")
    assert heard.wait(PATIENCE_SECONDS)
    stream.close()
    reader.join(PATIENCE_SECONDS)
    assert not reader.is_alive()
    return lines


def test_closing_from_another_thread_ends_a_silent_stream(server: FakeApiServer, api: KubernetesApi) -> None:
    assert close_while_another_thread_waits(server, api) == [b"{}"]


def test_closing_twice_or_after_the_end_does_nothing(server: FakeApiServer, api: KubernetesApi) -> None:
    with api.stream("/api/v1/pods", {"watch": "true"}) as stream:
        server.next_stream().end()
        assert list(stream) == []
        stream.close()
    stream.close()
    assert list(stream) == []


# -- Credentials ----------------------------------------------------------------------------------------------


def test_a_named_kubeconfig_wins_over_the_environment(tmp_path: Path) -> None:
    named = write_kubeconfig(tmp_path / "named", "http://named.test")
    other = write_kubeconfig(tmp_path / "other", "http://other.test")
    environment = {"KUBECONFIG": str(other)}
    assert url_found(Credentials(str(named), environment=environment)) == "http://named.test"
    assert url_found(Credentials(environment=environment)) == "http://other.test"


def test_the_home_directory_is_looked_at_when_the_environment_names_no_file(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write_kubeconfig(tmp_path / ".kube" / "config", "http://home.test")
    assert url_found(Credentials(environment={"HOME": str(tmp_path)})) == "http://home.test"


def test_several_files_are_merged_and_the_first_current_context_wins(tmp_path: Path) -> None:
    first = write_kubeconfig(tmp_path / "first", "http://first.test")
    second = tmp_path / "second"
    second.write_text(
        json.dumps(
            {
                "current-context": "there",
                "clusters": [{"name": "far", "cluster": {"server": "http://second.test"}}],
                "contexts": [{"name": "there", "context": {"cluster": "far"}}],
                "users": None,
            }
        )
    )
    environment = {"KUBECONFIG": f"{tmp_path / 'missing'}:{first}:{second}"}
    assert url_found(Credentials(environment=environment)) == "http://first.test"
    assert url_found(Credentials(context="there", environment=environment)) == "http://second.test"


def service_account(directory: Path, token: str = "pod-token") -> Path:
    (directory / "token").write_text(token)
    (directory / "ca.crt").write_text("certificate")
    return directory


def test_in_a_pod_its_service_account_is_used(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", "HOME": "/nonexistent"}
    credentials = Credentials(environment=environment, service_account=service_account(tmp_path))
    configuration = credentials.load()
    assert configuration.host == "https://10.0.0.1:443"
    assert configuration.ssl_ca_cert == str(tmp_path / "ca.crt")
    assert configuration.auth_settings()["BearerToken"]["value"] == "bearer pod-token"
    assert configuration.refresh_api_key_hook is not None


@pytest.mark.parametrize(
    ("credentials", "problem"),
    [
        (Credentials("/nonexistent/kubeconfig"), "there is no kubeconfig /nonexistent/kubeconfig"),
        (
            Credentials(environment={"HOME": "/nonexistent"}),
            r"no kubeconfig \(\$KUBECONFIG, ~/.kube/config\) and no service account in /var/run",
        ),
        (Credentials(context="x", environment={"HOME": "/nonexistent"}), "context 'x' is asked for, but"),
    ],
)
def test_missing_credentials_say_where_they_were_looked_for(credentials: Credentials, problem: str) -> None:
    with pytest.raises(SourceUnreachableError, match=problem):
        KubernetesApi(credentials).get("/api")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a: [", "is not YAML"),
        ("[]", "Expected `object`"),
        ("users: 3", r"Expected `array \| null`"),
        ("kind: Config", "has no current-context"),
        ("current-context: lost\ncontexts: []\nclusters: []\nusers: []", "Expected object with name lost"),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: b}}]\nclusters: [{name: b, cluster: 3}]",
            "cannot be used",
        ),
    ],
)
def test_a_bad_kubeconfig_is_refused_with_its_path(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(content)
    with pytest.raises(SourceUnreachableError, match=problem) as caught:
        KubernetesApi(Credentials(str(file))).get("/api")
    assert str(file) in str(caught.value)


def test_an_unreadable_kubeconfig_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreachableError, match="there is no kubeconfig"):
        KubernetesApi(Credentials(str(tmp_path))).get("/api")


def test_a_token_in_a_file_is_read_again_when_it_rotates(server: FakeApiServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    server.answer("/api", b"{}")
    with server.api(tmp_path, tokenFile="token") as api:
        api.get("/api")
        token.write_text("second\n")
        api.get("/api")
    assert [a.headers["authorization"] for a in server.requests] == ["Bearer first", "Bearer second"]


def test_a_token_file_that_vanished_is_told_and_may_come_back(server: FakeApiServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    server.answer("/api", b"{}")
    with server.api(tmp_path, tokenFile=str(token)) as api:
        api.get("/api")
        token.unlink()
        with pytest.raises(SourceUnreachableError, match="the token cannot be read: No such file"):
            api.get("/api")
        token.write_text("back")
        assert api.get("/api") == b"{}"


def test_after_unauthorized_the_credentials_are_loaded_anew(server: FakeApiServer, tmp_path: Path) -> None:
    server.answer("/api", status_of(401, "Unauthorized"), status=401)
    server.answer("/api", b"{}")
    with server.api(tmp_path, token="old") as api:
        with pytest.raises(SourceRefusedError, match="401"):
            api.get("/api")
        server.kubeconfig(tmp_path, token="new")
        assert api.get("/api") == b"{}"
    assert [a.headers["authorization"] for a in server.requests] == ["Bearer old", "Bearer new"]


# -- Secrets --------------------------------------------------------------------------------------------------


def test_a_token_unfit_for_a_header_does_not_appear_in_the_error(server: FakeApiServer, tmp_path: Path) -> None:
    with (
        server.api(tmp_path, token="hidden\nvalue") as api,
        pytest.raises(SourceUnreachableError, match="not fit for an HTTP header") as caught,
    ):
        api.get("/api")
    assert "hidden" not in f"{caught.value}{caught.value!r}{caught.value.__cause__}"


def test_a_users_entry_quoted_by_the_client_does_not_appear_in_the_error(tmp_path: Path) -> None:
    provider = {"auth-provider": {"name": "oidc", "config": {"client-secret": "hidden"}}}
    file = write_kubeconfig(tmp_path / "k", "http://x.test")
    content = json.loads(file.read_text())
    content["users"][0]["user"] = provider
    file.write_text(json.dumps(content))
    with pytest.raises(SourceUnreachableError, match=r"Expected key id-token in .*\{\.\.\.\}") as caught:
        KubernetesApi(Credentials(str(file))).get("/api")
    assert "hidden" not in str(caught.value)


def test_a_kubeconfig_that_is_no_yaml_is_not_quoted(tmp_path: Path) -> None:
    file = tmp_path / "k"
    file.write_text("users: [{token: hidden")
    with pytest.raises(SourceUnreachableError) as caught:
        KubernetesApi(Credentials(str(file))).get("/api")
    assert "hidden" not in str(caught.value)


def test_no_log_line_carries_the_token(
    server: FakeApiServer, api: KubernetesApi, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer("/api", b"{}")
    with caplog.at_level(logging.DEBUG):
        api.get("/api")
    assert "a-secret-token" not in caplog.text


# -- TLS and proxies ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key, in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "fake API server")])
    now = dt.datetime.now(dt.UTC)
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(alternative, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = tmp_path_factory.mktemp("tls") / "certificate.pem"
    file.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + private)
    return file


@pytest.fixture
def tls_server(certificate: Path) -> Iterator[FakeApiServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with FakeApiServer(context) as server:
        server.answer("/api", b"{}")
        yield server


def test_the_authority_of_the_kubeconfig_is_trusted_whatever_other_tools_are_told(
    tls_server: FakeApiServer, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, "/nonexistent.pem")
    file = write_kubeconfig(tmp_path / "k", tls_server.url, cluster={"certificate-authority": str(certificate)})
    with KubernetesApi(Credentials(str(file))) as api:
        assert api.get("/api") == b"{}"


def test_a_server_that_speaks_no_tls_is_unreachable_in_plain_words(server: FakeApiServer, tmp_path: Path) -> None:
    file = write_kubeconfig(tmp_path / "k", server.url.replace("http:", "https:"))
    with KubernetesApi(Credentials(str(file))) as api, pytest.raises(SourceUnreachableError, match="TLS failed"):
        api.get("/api")


def test_an_unknown_authority_is_unreachable_in_plain_words(tls_server: FakeApiServer, tmp_path: Path) -> None:
    file = write_kubeconfig(tmp_path / "k", tls_server.url)
    with (
        KubernetesApi(Credentials(str(file))) as api,
        pytest.raises(SourceUnreachableError, match="its certificate cannot be verified: self-signed"),
    ):
        api.get("/api")


def test_a_certificate_may_go_unverified_with_one_warning_in_the_log(
    tls_server: FakeApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = write_kubeconfig(tmp_path / "k", tls_server.url, cluster={"insecure-skip-tls-verify": True})
    with KubernetesApi(Credentials(str(file))) as api:
        assert [api.get("/api"), api.get("/api")] == [b"{}", b"{}"]
    assert [r.getMessage() for r in caplog.records if r.name == "collectors.kubernetes_api"] == [
        f"the certificate of {tls_server.url} is not verified, as the kubeconfig asks"
    ]


def test_closing_from_another_thread_ends_a_silent_stream_over_tls(
    tls_server: FakeApiServer, certificate: Path, tmp_path: Path
) -> None:
    file = write_kubeconfig(tmp_path / "k", tls_server.url, cluster={"certificate-authority": str(certificate)})
    with KubernetesApi(Credentials(str(file))) as api:
        assert close_while_another_thread_waits(tls_server, api) == [b"{}"]


def test_loopback_is_never_asked_through_a_proxy(
    server: FakeApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.answer("/api", b"{}")
    with server.api(tmp_path) as api:
        assert api.get("/api") == b"{}"


def test_importing_this_module_does_not_import_the_client() -> None:
    code = "import sys, collectors.watch, collectors.metrics_server; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE_SECONDS).returncode == 0
