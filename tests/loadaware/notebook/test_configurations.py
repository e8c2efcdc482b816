from pathlib import Path

import pytest

from loadaware import notebook
from loadaware.config import Config, parse
from loadaware.errors import ConfigError

TLP = "profiles:\n- scorers: [{name: TargetLoadPacking}]\n"


def test_a_configuration_is_a_value_a_file_or_its_text(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(TLP, encoding="utf-8")
    assert notebook.configuration(TLP) == notebook.configuration(str(file)) == notebook.configuration(file)
    assert notebook.configuration(Config()) == Config()


def test_weights_become_a_profile_without_those_of_weight_zero() -> None:
    config = notebook.weighted({"EntropicRisk": 2.0, "LowestUsage": 0.0}, max_score=10)
    (profile,) = config.profiles
    assert [(scorer.name, scorer.weight) for scorer in profile.scorers] == [("EntropicRisk", 2.0)]
    assert profile.max_score == 10


def test_a_scorer_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="Entropic"):
        notebook.weighted({"Entropic": 1.0})


def test_the_text_of_a_configuration_says_the_same() -> None:
    config = notebook.weighted({"EntropicRisk": 2.0, "LowestUsage": 0.5})
    assert parse(notebook.text(config)) == config


def test_a_profile_in_shadow_can_be_taken_out_alone_and_live() -> None:
    config = TLP + "- {schedulerName: tuned, shadow: true, scorers: [{name: LowestUsage}]}\n"
    live, tuned = notebook.alone(config).profiles, notebook.alone(config, "tuned").profiles
    assert [(p.scheduler_name, p.scorers[0].name) for p in live] == [("default-scheduler", "TargetLoadPacking")]
    assert [(p.scheduler_name, p.shadow, p.scorers[0].name) for p in tuned] == [("tuned", False, "LowestUsage")]
    with pytest.raises(ConfigError, match="there is no profile 'other'"):
        notebook.alone(config, "other")
