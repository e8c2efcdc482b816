import pytest
import yaml

from loadaware.config import Config, parse
from loadaware.errors import ConfigError
from loadaware.promotion import chart_values, into_shadow, promote

LIVE = """# top
interval: 20s  # often
profiles:
# the live one
- schedulerName: default-scheduler   # ours
  maxScore: 20
  filters:
  - {name: UsageThreshold, args: {thresholds: {cpu: 80}}}
  scorers:
  - name: TargetLoadPacking
    weight: 2
- schedulerName: batch
  scorers: [{name: LowestUsage}]
# below
mode: active
"""
BEST = parse(
    "profiles: [{maxScore: 44, scorers: [{name: EntropicRisk, args: {range: 2}}, {name: LowestUsage, weight: 0.5}]}]"
)
COMMENTS = ("# top", "# often", "# the live one", "# ours", "# below")


def shadowed(text: str = LIVE) -> str:
    return into_shadow(text, "config.yaml", BEST, "tuned").text


def test_a_tuned_profile_goes_into_shadow_beside_the_live_ones() -> None:
    done = into_shadow(LIVE, "config.yaml", BEST, "tuned")
    before, after = parse(LIVE), parse(done.text)
    assert after == done.config
    assert after.profiles[:2] == before.profiles
    shadow = after.profiles[2]
    assert (shadow.scheduler_name, shadow.shadow, shadow.max_score) == ("tuned", True, 44)
    assert shadow.scorers == BEST.profiles[0].scorers
    assert all(comment in done.text for comment in COMMENTS)


def test_put_into_shadow_again_it_takes_the_place_of_the_one_before() -> None:
    other = parse("profiles: [{scorers: [{name: Peaks}]}]")
    after = into_shadow(shadowed(), "config.yaml", other, "tuned").config
    assert len(after.profiles) == 3
    assert after.profiles[2].scorers == other.profiles[0].scorers


def test_the_profile_that_was_tuned_goes_into_shadow_wherever_it_stands() -> None:
    batch = parse(LIVE.replace("[{name: LowestUsage}]", "[{name: Peaks}]"))
    done = into_shadow(LIVE, "config.yaml", batch, "tuned")
    assert done.config.profiles[2].scorers == batch.profiles[1].scorers
    assert "it was tuned for batch: when it is promoted, say so with `--live batch`" in done.remarks


def test_a_profile_may_be_named_and_must_be_where_several_are_new() -> None:
    both = parse(LIVE.replace("[{name: LowestUsage}]", "[{name: Peaks}]").replace("weight: 2", "weight: 3"))
    with pytest.raises(ConfigError, match="several are new; name one of them with --of: default-scheduler, batch"):
        into_shadow(LIVE, "config.yaml", both, "tuned")
    done = into_shadow(LIVE, "config.yaml", both, "tuned", of="batch")
    assert done.config.profiles[2].scorers == both.profiles[1].scorers
    with pytest.raises(ConfigError, match="there is no profile 'none'"):
        into_shadow(LIVE, "config.yaml", both, "tuned", of="none")


def test_where_nothing_is_new_the_first_profile_is_meant() -> None:
    done = into_shadow(LIVE, "config.yaml", parse(LIVE), "tuned")
    assert done.config.profiles[2].scorers == parse(LIVE).profiles[0].scorers


def test_a_live_name_is_not_taken_for_a_shadow() -> None:
    with pytest.raises(ConfigError, match="'batch' is a live profile; choose another name with --profile"):
        into_shadow(LIVE, "config.yaml", BEST, "batch")


def test_promoted_the_live_profile_is_like_the_shadow_and_keeps_its_name() -> None:
    done = promote(shadowed(), "config.yaml", "tuned")
    after = parse(done.text)
    assert after == done.config
    assert [profile.scheduler_name for profile in after.profiles] == ["default-scheduler", "batch"]
    live = after.profiles[0]
    assert (live.scorers, live.max_score, live.shadow) == (BEST.profiles[0].scorers, 44, False)
    assert live.filters == ()
    assert all(comment in done.text for comment in COMMENTS)


def test_what_was_live_can_stay_in_shadow_and_promoting_it_is_the_way_back() -> None:
    done = promote(shadowed(), "config.yaml", "tuned", keep_old=True)
    assert done.config.profiles[2].shadow
    assert done.config.profiles[2].scorers == parse(LIVE).profiles[0].scorers
    back = promote(done.text, "config.yaml", "tuned")
    assert back.config == parse(LIVE)


def test_another_live_profile_can_be_named() -> None:
    after = promote(shadowed(), "config.yaml", "tuned", "batch").config
    assert after.profiles[0] == parse(LIVE).profiles[0]
    assert after.profiles[1].scorers == BEST.profiles[0].scorers


def test_under_mode_shadow_a_live_profile_is_promoted_by_switching_the_mode() -> None:
    done = promote("mode: shadow  # carefully\n", "config.yaml", "default-scheduler")
    assert done.text == "mode: active  # carefully\n"
    assert any("mode is still shadow" in remark for remark in promote(
        shadowed("mode: shadow\nprofiles: [{scorers: [{name: LowestUsage}]}]\n"), "config.yaml", "tuned"
    ).remarks)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "live", "said"),
    [
        ("tunde", None, "there is no profile 'tunde'; there are: default-scheduler, batch, tuned"),
        ("batch", None, "'batch' is live already; in shadow there are: tuned"),
        ("tuned", "tuned", "'tuned' is in shadow itself; name a live one"),
    ],
)
def test_what_cannot_be_promoted_is_refused(name: str, live: str | None, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        promote(shadowed(), "config.yaml", name, live)
    assert str(caught.value) == f"config.yaml: profiles: {said}"


@pytest.mark.parametrize(
    "text", ["", "interval: 20s\n", "{interval: 20s, profiles: [{scorers: [{name: LowestUsage}]}]}"]
)
def test_files_without_profiles_and_in_flow_style_work_too(text: str) -> None:
    done = into_shadow(text, "config.yaml", BEST, "tuned")
    assert parse(done.text) == done.config
    again = promote(done.text, "config.yaml", "tuned")
    assert parse(again.text) == again.config
    assert again.config.profiles[0].scorers == BEST.profiles[0].scorers


def test_where_a_file_cannot_be_changed_in_place_its_comments_are_lost_and_that_is_said() -> None:
    text = "# lost\nprofiles:\n- scorers: &s [{name: LowestUsage}]\n- {schedulerName: b, scorers: *s}\n"
    done = into_shadow(text, "config.yaml", BEST, "tuned")
    assert parse(done.text) == done.config
    assert "# lost" not in done.text
    assert any("its comments are lost" in remark for remark in done.remarks)


def test_the_values_of_the_chart_hold_every_profile_and_nothing_else() -> None:
    config = parse(shadowed())
    values = yaml.safe_load(chart_values(config))
    assert list(values) == ["config"]
    assert list(values["config"]) == ["profiles"]
    assert parse(yaml.safe_dump(values["config"])).profiles == config.profiles


def test_a_default_configuration_is_written_without_its_defaults() -> None:
    assert yaml.safe_load(chart_values(Config()))["config"]["profiles"] == [
        {"schedulerName": "default-scheduler", "scorers": [{"name": "EntropicRisk"}]}
    ]
