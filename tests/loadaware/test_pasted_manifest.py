"""A manifest as anybody may paste it: read, or refused in words, and never a burden."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.errors import ConfigError
from loadaware.pasted_manifest import DEEPEST, MOST_BRACKETS, read_pod


def test_a_pod_is_read_from_yaml_and_from_json() -> None:
    yaml = b"metadata: {name: web, namespace: shop}\nspec: {containers: [{resources: {requests: {cpu: 250m}}}]}"
    container = {"resources": {"requests": {"cpu": "250m"}}}
    manifest = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": [container]}}
    json = msgspec.json.encode(manifest)
    assert read_pod(yaml) == read_pod(json)
    assert (read_pod(yaml).key, read_pod(yaml).shape.request("cpu")) == ("shop/web", 0.25)


def test_of_several_documents_the_first_counts() -> None:
    assert read_pod(b"metadata: {name: one}\n---\nmetadata: {name: two}").name == "one"


def test_the_uid_of_a_pod_that_runs_is_not_taken_so_that_its_own_booking_stays() -> None:
    assert read_pod(b"metadata: {name: web, uid: uid-1}").uid == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * (MOST_BRACKETS + 1), f"more than {MOST_BRACKETS} brackets"),
        ("- " * (DEEPEST + 1) + "x", f"nested more than {DEEPEST} levels deep"),
        ("a: &a {b: 1}\nc: {<<: *a}", "anchors and aliases"),
        ("\t", "is empty"),
        ("a: b: c", "is not YAML"),
    ],
)
def test_what_no_manifest_has_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_pod(text.encode())


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    refusal = ""
    try:
        assert read_pod(body).name
    except ConfigError as error:
        refusal = str(error)
    assert not refusal or refusal.startswith("manifest: ")
