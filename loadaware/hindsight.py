"""What becomes of an answer once it is given: kept, compared with the shadows, written to a file, told as an event.

In shadow mode it comes the other way round: the answer was that all nodes are equal, and what we would have said is
worked out here, a moment later, and told to nobody.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.adviser import Adviser
from loadaware.announcements import Announcements
from loadaware.aside import Aside
from loadaware.changes import Change, PodBound
from loadaware.decision_file import DecisionFile
from loadaware.decision_report import decision_report, placement_report
from loadaware.decisions import Decision, Decisions
from loadaware.explanation import explain
from loadaware.filtering import Filtering
from loadaware.hindsight_settings import HindsightSettings, Mode
from loadaware.pace import Pace
from loadaware.profile import Profile
from loadaware.ranking import Ranking
from loadaware.scorers.scorer import Scorer
from loadaware.shadow import KUBE_SCHEDULER, MOST_WAITING, PAUSE_SECONDS, Shadow
from loadaware.telemetry import Telemetry

logger = logging.getLogger(__name__)

EVENT_PAUSE_SECONDS = 1.0
"""Between two explaining events; those between are left out."""
WORDS = {True: "true", False: "false"}


class Hindsight:
    """One thread: the event loop's."""

    def __init__(
        self, adviser: Adviser, telemetry: Telemetry, clock: Callable[[], float], announcements: Announcements
    ) -> None:
        self._adviser = adviser
        self._telemetry = telemetry
        self._clock = clock
        self._announcements = announcements
        self.settings = HindsightSettings()
        self.pace = Pace(time.perf_counter)
        self.decisions = Decisions(time_left=self.pace.leaves_time)
        self.decisions.raws = self._raws
        self.decisions.on_bound.append(self._placed)
        self.decisions.on_settled.append(self._settled)
        self.decisions.on_lost.append(self._lost)
        self.shadow = Shadow(adviser, Aside(PAUSE_SECONDS, MOST_WAITING, self.pace.leaves_time))
        self.shadow.on_compared = self._compared
        self._file: DecisionFile | None = None
        self._unwritten = 0
        self._at_the_end: list[Callable[[], None]] = []

    def tell_of_each(self, told: Callable[[Decision], None], at_the_end: Callable[[], None]) -> None:
        """Tell of each answer, a moment later; and of the end."""
        self.decisions.on_settling.append(told)
        self.decisions.settle_each = True
        self._at_the_end.append(at_the_end)

    @property
    def unwritten(self) -> int:
        """Lines that are missing from the file of decisions."""
        return self._unwritten + (0 if self._file is None else self._file.dropped)

    @property
    def mode(self) -> Mode:
        """Whether we answer, or only think."""
        return self.settings.mode

    def configure(self, settings: HindsightSettings) -> None:
        """Take new settings; what is kept stays, within the new bounds. Comparisons begin anew."""
        if settings.mode != self.settings.mode:
            logger.warning(
                "mode: shadow: prioritize is answered with zeros and filter lets all pass"
                if settings.mode == "shadow"
                else "mode: active: answers count again"
            )
        before, self.settings = self.settings, settings
        self.decisions.staleness = self._adviser.settings.staleness
        self.decisions.resize(settings.kept, settings.memory_bytes)
        self.shadow.forget()
        where = settings.file, settings.file_size_bytes, settings.files
        if where != (before.file, before.file_size_bytes, before.files):
            self._close_file()
            self._file = DecisionFile(*where) if settings.file else None
            self.decisions.settle_each = self._file is not None or bool(self.decisions.on_settling)

    def ranked(self, pod: Pod, ranking: Ranking, asked: int) -> Decision | None:
        """An answer to prioritize. What is kept of it, if anything is."""
        decision = self.decisions.note(pod, ranking, asked, self._adviser.snapshot, self._clock())
        if self._adviser.settings.shadows:
            self.shadow.answered(pod, ranking)
        return decision

    def filtered(self, pod: Pod, filtering: Filtering, asked: int) -> Decision | None:
        """An answer to filter."""
        return self.decisions.note(pod, filtering, asked, self._adviser.snapshot, self._clock())

    def think(self, verb: str, pod: Pod, names: Sequence[str], profile: str | None) -> None:
        """In shadow mode: what would we have answered? Worked out a moment later."""
        self.shadow.later(partial(self._think, verb, pod, names, profile))

    def change(self, change: Change) -> None:
        """The watch tells of a pod."""
        if isinstance(change, PodBound):
            self.decisions.bound(change)
            self.shadow.bound(change)
        else:
            self.decisions.left(change)

    def close(self) -> None:
        """The end: write what is to be written."""
        if self.decisions.settle_each:
            self.decisions.settle_all()
        self._close_file()
        for end in self._at_the_end:
            end()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._unwritten += self._file.dropped
            self._file = None

    def _think(self, verb: str, pod: Pod, names: Sequence[str], profile: str | None) -> None:
        answer: Ranking | Filtering
        if verb == "filter":
            answer = self._adviser.filter(pod, names, profile, book=False)
        else:
            answer = self._adviser.rank(pod, names, profile, book=False)
            self.shadow.thought(pod, answer)
        decision = self.decisions.note(pod, answer, len(names), self._adviser.snapshot, self._clock())
        if decision is not None:
            decision.aside = True

    def _raws(self, decision: Decision) -> Mapping[str, Floats]:
        """The scorers' own numbers, where they have some: worked out a moment later, if nothing new came meanwhile."""
        answer = decision.answer
        if not isinstance(answer, Ranking) or decision.snapshot is not self._adviser.snapshot:
            return {}
        profile = self._adviser.settings.profiles.get(answer.profile)
        if profile is None or not _has_raws(profile):
            return {}
        again = self._adviser.rank(decision.pod, answer.names, profile.name, book=False, explain=True)
        return {part.name: part.raw for part in again.parts if part.raw is not None}

    def _settled(self, decision: Decision) -> None:
        if self._file is not None:
            self._file.put(lambda: {"kind": "decision", **decision_report(decision)})

    def _lost(self, _: Decision) -> None:
        if self._file is not None:
            self._file.leave_out()

    def _placed(self, decision: Decision) -> None:
        first = decision.chosen_first
        if first is not None:
            self._telemetry.first_choice.labels(WORDS[first]).inc()
        if self._file is not None:
            self._file.put(lambda: {"kind": "placement", **placement_report(decision)})
        if self.settings.events:
            self._announcements.announce(
                decision.pod, "Placed", lambda: self._words(decision), kind="Normal", pause_seconds=EVENT_PAUSE_SECONDS
            )

    def _words(self, decision: Decision) -> str:
        filtering, _ = self.decisions.of_pod(decision.pod.key)
        self.decisions.settle(decision)
        sentence: str = explain(filtering, decision)["sentence"]
        return sentence

    def _compared(self, shadow: str, other: str, agreed: bool, correlation: float, difference: float) -> None:
        if other != KUBE_SCHEDULER:
            self._telemetry.shadow_agreement.labels(shadow, WORDS[agreed]).inc()
            if np.isfinite(correlation):
                self._telemetry.shadow_rank_correlation.labels(shadow).observe(correlation)
            if np.isfinite(difference):
                self._telemetry.shadow_load_difference.labels(shadow).observe(difference)


def _has_raws(profile: Profile) -> bool:
    """Whether a scorer has a number of its own, and can be asked for it at once."""
    kinds = [type(weighted.scorer) for weighted in profile.scorers]
    return any(kind.raw is not Scorer.raw for kind in kinds) and not any(hasattr(kind, "worker") for kind in kinds)
