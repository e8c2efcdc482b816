"""docs/install.md: each line of `doctor` that it quotes is one that the code writes; its commands and values exist."""

import re
import shlex
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import yaml

from collectors.errors import SourceRefusedError
from collectors.manifests import Node
from collectors.metrics_server import SOURCE
from collectors.prometheus.match_report import QueryReport
from collectors.prometheus.queries import Query
from collectors.reading import CPU, NodeIdentity
from loadaware.cli import cli
from loadaware.config import Config, MetricsServerSource, PluginReference, StalenessSection, parse
from loadaware.doctor import access, api_server, clock, configuration, metrics_api, prometheus_source, running_server
from loadaware.doctor.finding import Finding
from loadaware.doctor.measured import judge_coverage
from loadaware.filters import FILTERS
from loadaware.profiles import adviser_settings
from loadaware.quarantine import judge_values
from loadaware.scorers import SCORERS
from loadaware.sources import check_source

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
HISTORY_PAGE = (ROOT / "docs" / "history.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"(?s)```sh\n(.*?)```", PAGE) for line in block.replace("\\\n", " ").splitlines()
]
NODES = [Node(name=name) for name in ("node-a", "node-b", "node-c")]
IDENTITIES = [NodeIdentity("node-a", ("10.0.0.7",))]
USAGE = Query("node", CPU, "my_cpu")
SILENT = QueryReport(USAGE)
STRANGER = QueryReport(USAGE, series=3, unmatched=3, unmatched_examples=("{instance='10.0.0.7:9100'}",))
UNREADY = running_server._Readiness(ready=False)
FAILING = running_server._Source(consecutive_failures=4, last_error="https://10.0.0.1:443 answered 503: unavailable")
OLD = running_server._Readiness(
    ready=True, measured=True, data_age_seconds=1200, source=running_server._Source(readings=60)
)
NOT_OF_THE_PEER = {"window"}
"""Args of ours that a newcomer's configuration has nothing for."""
SERVER = "http://127.0.0.1:8091"


class Api:
    """An API server that always answers the same."""

    url = "https://10.0.0.1:443"

    def __init__(self, *, status: int = 200, message: str = "", body: bytes = b"{}") -> None:
        self._status, self._message, self._body = status, message, body

    def get(self, path: str, *_: Any, **__: Any) -> bytes:
        if self._status != 200:
            raise SourceRefusedError(self.url + path, self._status, self._message)
        return self._body


def of_configuration() -> Finding:
    """A file with a mistake, as if it lay where the chart puts it."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "config.yaml").write_text("interval: often")
        (finding,) = configuration.check_configuration(f"{folder}/config.yaml", [])
        return replace(finding, detail=finding.detail.replace(folder, "/etc/loadaware"))


def of_metrics_api(api: Any) -> Finding:
    return next(metrics_api.check_metrics_api(api, MetricsServerSource(), NODES, StalenessSection()))


def of_api_server(api: Any) -> Finding:
    return next(api_server.check_api_server(api))


def findings() -> list[Finding]:
    """What the code says in each case that the page tells of."""
    return [
        of_configuration(),
        of_api_server(Api(status=401, message="Unauthorized")),
        access._judged(access.CLUSTER[1], ["list", "watch"]),
        clock.judge_skew(95.0),
        of_metrics_api(Api(status=404)),
        of_metrics_api(Api(body=b'{"kind": "NodeMetricsList", "items": []}')),
        judge_coverage(SOURCE, {"node-a", "node-b"}, NODES, metrics_api._MISSING),
        next(prometheus_source._judge_query(SILENT, IDENTITIES)),
        next(prometheus_source._judge_query(STRANGER, IDENTITIES)),
        running_server._judge_readiness(SERVER, UNREADY),
        next(iter(running_server._judge_source(FAILING))),
        running_server._judge_age(OLD, Config()),
        running_server._judge_quarantine(quarantined()),
        running_server._judge_requests(0),
        running_server._judge_mode("shadow"),
    ]


def quarantined() -> dict[str, str]:
    """A node that claims to use a thousand times what it has."""
    _, reasons = judge_values(np.array([[4000.0, 1e9]]), np.array([[4.0, 8e9]]))
    return {"node-c": reasons[0]}


def shown(finding: Finding) -> str:
    """As `doctor` prints it, in one or two lines."""
    fix = f"\n      fix: {finding.fix}" if finding.fix else ""
    return f"{finding.verdict:<4}  {finding.what}: {finding.detail}{fix}"


def quoted() -> list[str]:
    """The lines of `doctor` on the page, each with its fix."""
    blocks = "".join(re.findall(r"(?s)```doctor\n(.*?)```", PAGE))
    return [text.rstrip() for text in re.split(r"(?m)^(?=ok|warn|fail)", blocks) if text]


@pytest.mark.parametrize("line", quoted())
def test_a_quoted_line_of_doctor_is_what_the_code_says(line: str) -> None:
    assert line in [shown(finding) for finding in findings()]


def test_every_case_of_this_test_stands_on_the_page() -> None:
    assert {shown(finding) for finding in findings()} == set(quoted())


def test_every_command_of_ours_on_the_page_exists_with_its_options() -> None:
    ours = [shlex.split(line)[shlex.split(line).index("loadaware") :] for line in COMMANDS if " -- loadaware " in line]
    assert {words[1] for words in ours} >= {"doctor", "shadow"}
    for _, name, *rest in ours:
        known = {option for parameter in cli.commands[name].params for option in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= known


def test_every_value_set_on_the_page_is_one_of_the_chart() -> None:
    values = yaml.safe_load((ROOT / "deploy" / "chart" / "values.yaml").read_text())
    names = re.findall(r"--set ([\w.]+)=", "\n".join(COMMANDS) + HISTORY_PAGE)
    assert {"image.repository", "mode", "secondScheduler.enabled", "history.enabled"} <= set(names)
    for name in names:
        here = values
        for part in name.split(".")[:1] if name.startswith("config.") else name.split("."):
            assert part in here, name
            here = here[part]


@pytest.mark.parametrize("page", ["install.md", "from-trimaran.md", "from-koordinator.md", "from-tas.md"])
def test_every_link_leads_somewhere_and_the_readme_leads_here(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (ROOT / "docs" / target).exists(), target
    assert f"(docs/{page})" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "steps"),
    [
        ("from-trimaran.md", ["helm install", "mode=active", "scale --replicas=0", "schedulerNames={trimaran}"]),
        (
            "from-koordinator.md",
            ["helm install", "mode=active", "scale --replicas=0", "schedulerNames={koord-scheduler}"],
        ),
        ("from-tas.md", ["helm install", "loadaware shadow", "mode=active"]),
    ],
)
def test_newcomers_install_in_shadow_turn_it_up_and_only_then_retire_what_they_had(page: str, steps: list[str]) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    commands = "".join(re.findall(r"(?s)```sh\n(.*?)```", text))
    assert [commands.count(step) for step in steps] == [1] * len(steps)
    assert sorted(steps, key=commands.index) == steps
    assert "(install.md#turn-it-up-from-shadow)" in text.partition("```sh")[0]


@pytest.mark.parametrize("page", ["from-trimaran.md", "from-koordinator.md", "from-tas.md"])
def test_the_configuration_on_a_page_for_newcomers_is_accepted_and_its_args_are_explained(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    example = text.partition("```yaml\n")[2].partition("```")[0]
    config = parse(example)
    settings = adviser_settings(config)
    check_source(config, page)
    assert settings.profiles
    plugins: list[PluginReference] = [plugin for profile in config.profiles for plugin in profile.scorers]
    plugins += [plugin for profile in config.profiles for plugin in profile.filters]
    table = text.partition("side by side\n")[2].partition("\n## ")[0]
    for plugin in plugins:
        kind: Any = {**SCORERS, **FILTERS}[plugin.name]
        for arg in kind.__struct_encode_fields__:
            assert f"`{arg}" in table or arg in NOT_OF_THE_PEER, f"{plugin.name} {arg}"
