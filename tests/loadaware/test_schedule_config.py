"""What is printed for kube-scheduler is YAML that fits the configuration it was made from."""

from typing import Any

import pytest
import yaml

from loadaware.config import Config, parse
from loadaware.errors import ConfigError
from loadaware.schedule_config import schedule_configuration


def made(config: Config | None = None, **options: Any) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(schedule_configuration(config or Config(), **options))
    return document


def extender(config: Config | None = None, **options: Any) -> dict[str, Any]:
    (only,) = made(config, **options)["extenders"]
    assert isinstance(only, dict)
    return only


TLS = parse("server: {port: 9443, tls: {certFile: a.pem, keyFile: b.pem}}")
MUTUAL_TLS = parse("server: {tls: {certFile: a.pem, keyFile: b.pem, clientCaFile: c.pem}}")


def test_the_defaults_make_an_ignorable_extender_that_is_sent_names_only() -> None:
    assert made(kubeconfig="/etc/kubernetes/scheduler.conf") == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": True},
        "clientConnection": {"kubeconfig": "/etc/kubernetes/scheduler.conf"},
        "profiles": [{"schedulerName": "default-scheduler"}],
        "extenders": [
            {
                "urlPrefix": "http://127.0.0.1:8090",
                "prioritizeVerb": "prioritize",
                "weight": 1,
                "nodeCacheCapable": True,
                "ignorable": True,
                "httpTimeout": "2s",
                "enableHTTPS": False,
            }
        ],
    }


def test_filter_is_called_only_where_a_profile_filters() -> None:
    assert "filterVerb" not in extender()
    filtering = parse("profiles: [{filters: [{name: UsageThreshold}]}]")
    assert extender(filtering)["filterVerb"] == "filter"


def test_each_profile_becomes_a_scheduler_name() -> None:
    config = parse("profiles: [{schedulerName: default-scheduler}, {schedulerName: batch}]")
    assert made(config)["profiles"] == [{"schedulerName": "default-scheduler"}, {"schedulerName": "batch"}]


def test_without_an_address_it_is_this_machine_at_the_configurations_port() -> None:
    assert extender(parse("server: {port: 9000}"))["urlPrefix"] == "http://127.0.0.1:9000"
    assert extender(TLS)["urlPrefix"] == "https://127.0.0.1:9443"


def test_a_given_address_wins_and_loses_its_last_slash() -> None:
    assert extender(TLS, url="http://loadaware.kube-system:8090/")["urlPrefix"] == "http://loadaware.kube-system:8090"


def test_https_is_told_to_kube_scheduler_with_the_authority_to_check_by() -> None:
    secure = extender(TLS, ca_file="/etc/ca.pem")
    assert secure["enableHTTPS"] is True
    assert secure["tlsConfig"] == {"caFile": "/etc/ca.pem"}


def test_https_without_an_authority_is_warned_about() -> None:
    assert "does not verify" in schedule_configuration(TLS)
    assert "does not verify" not in schedule_configuration(TLS, ca_file="/etc/ca.pem")
    assert "does not verify" not in schedule_configuration(Config())


def test_a_certificate_that_we_ask_for_is_given_or_warned_about() -> None:
    assert "asks for a client certificate" in schedule_configuration(MUTUAL_TLS, ca_file="/ca.pem")
    text = schedule_configuration(MUTUAL_TLS, ca_file="/ca.pem", cert_file="/cert.pem", key_file="/key.pem")
    assert "asks for a client certificate" not in text
    (only,) = yaml.safe_load(text)["extenders"]
    assert only["tlsConfig"] == {"caFile": "/ca.pem", "certFile": "/cert.pem", "keyFile": "/key.pem"}


@pytest.mark.parametrize(("max_score", "weight"), [(30, "3"), (100, "10"), (15, "1.5")])
def test_the_comment_says_what_the_extender_counts_like(max_score: int, weight: str) -> None:
    text = schedule_configuration(parse(f"profiles: [{{maxScore: {max_score}}}]"))
    assert f"priorities 0..{max_score} count like an in-tree plugin of weight {weight}." in text


def test_in_cluster_credentials_and_whole_nodes_can_be_chosen() -> None:
    document = made(kubeconfig="", node_cache_capable=False, leader_elect=False)
    assert "clientConnection" not in document
    assert document["leaderElection"] == {"leaderElect": False}
    assert document["extenders"][0]["nodeCacheCapable"] is False


def test_preemption_and_binding_are_asked_for_only_if_wanted() -> None:
    assert not {"preemptVerb", "bindVerb"} & extender().keys()
    assert "pods/binding" not in schedule_configuration(Config(), preempt=True)
    assert extender(preempt=True)["preemptVerb"] == "preempt"
    assert extender(bind=True)["bindVerb"] == "bind"
    assert "needs the right to create pods/binding" in schedule_configuration(Config(), bind=True)


def test_the_comment_says_whether_names_or_whole_nodes_are_sent() -> None:
    assert "sends node names only" in schedule_configuration(Config())
    whole = schedule_configuration(Config(), node_cache_capable=False)
    assert "whole nodes are sent" in whole
    assert "names only" not in whole


def test_profiles_of_different_range_have_a_comment_each() -> None:
    text = schedule_configuration(parse("profiles: [{maxScore: 10}, {schedulerName: batch, maxScore: 100}]"))
    assert "priorities 0..10 (default-scheduler) count like an in-tree plugin of weight 1." in text
    assert "priorities 0..100 (batch) count like an in-tree plugin of weight 10." in text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"url": "loadaware:8090"}, "--url: 'loadaware:8090' is no http or https address"),
        ({"url": "ftp://loadaware"}, "--url: 'ftp://loadaware' is no http or https address"),
        ({"url": "http://"}, "is no http or https address"),
        ({"url": ""}, "is no http or https address"),
        ({"url": "http://loadaware:port"}, "is no http or https address"),
        ({"url": "http://a", "ca_file": "/ca"}, "--ca-file: is for an https address, not http://a"),
        ({"url": "http://a", "server_name": "b"}, "--server-name: is for an https address, not http://a"),
        ({"url": "http://a", "key_file": "/key"}, "--key-file: is for an https address, not http://a"),
        ({"url": "https://a", "cert_file": "/cert"}, "--cert-file: needs --key-file beside it"),
        ({"url": "https://a", "key_file": "/key"}, "--key-file: needs --cert-file beside it"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        schedule_configuration(Config(), **options)  # type: ignore[arg-type] # the texts among them
    assert problem in str(caught.value)


def test_profiles_in_shadow_are_no_profiles_of_kube_scheduler() -> None:
    text = "profiles: [{}, {schedulerName: aside, shadow: true, maxScore: 7, filters: [{name: UsageThreshold}]}]"
    told = schedule_configuration(parse(text))
    document = yaml.safe_load(told)
    assert document["profiles"] == [{"schedulerName": "default-scheduler"}]
    assert "filterVerb" not in document["extenders"][0]
    assert "aside" not in told
