from pathlib import Path

import pytest

from loadaware.config import Config, load, parse
from loadaware.config_text import config_text, without_secrets

GOOD = sorted((Path(__file__).parents[1] / "configs").glob("*.good.yaml"))


@pytest.mark.parametrize("file", GOOD, ids=lambda file: file.name)
def test_a_configuration_survives_as_text(file: Path) -> None:
    config = load(file)
    assert parse(config_text(config)) == config


def test_the_defaults_survive_as_text() -> None:
    assert parse(config_text(Config())) == Config()


def test_headers_and_user_names_of_both_sources_are_left_out() -> None:
    source = "{type: Prometheus, url: 'http://p', headers: {X: secret}}"
    config = without_secrets(parse(f"source: {source}\nsecondSource: {source}"))
    assert "secret" not in config_text(config)
