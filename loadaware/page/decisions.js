/** The stream of decisions, newest first. It can be held still, and holds still by itself while one walks in it. */
import { announce, byId, el, say, timeOfDay } from "./dom.js";
import { openDecision } from "./decision_panel.js";
import { on, state } from "./state.js";

const SHOWN = 60;
const ANNOUNCED_EVERY = 15000;

export function startDecisions() {
  const [list, pause] = [byId("decisions"), byId("pause")];
  let paused = false;
  let seen = 0;
  let announced = 0;

  const draw = () => {
    if (state.hello && !state.hello.features.explain) return list.replaceChildren(el("li", { class: "none", text: "Decisions are switched off here (people.explain)." }));
    if (!state.decisions.length) return list.replaceChildren(el("li", { class: "none", text: "None yet: create a pod, and see whether kube-scheduler asks." }));
    if (paused || list.contains(document.activeElement) || list.matches(":hover")) return hint();
    list.replaceChildren(...state.decisions.slice(0, SHOWN).map(item));
    seen = state.decisions.length + state.more;
    hint();
    tellNews();
  };

  const hint = () => {
    const more = state.decisions.length + state.more - seen;
    const missed = state.more ? `${state.more} more not shown` : "";
    say(byId("decisions-hint"), more > 0 && seen ? `${more} new` : missed);
  };

  const tellNews = () => {
    const last = state.decisions[0];
    if (Date.now() - announced < ANNOUNCED_EVERY || !last.chosen) return;
    announced = Date.now();
    announce(`${last.pod} went to ${last.chosen}`);
  };

  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    say(pause, paused ? "Go on" : "Pause");
    draw();
  });
  list.addEventListener("keydown", (event) => walk(event, list));
  list.addEventListener("pointerleave", draw);
  on("decisions", draw);
  on("hello", draw);
}

/** @param {any} decision */
function item(decision) {
  const where = decision.chosen ?? decision.first;
  const swayed = decision.chosen && decision.firstChoice === false;
  const to = decision.chosen ? `→ ${where}` : where ? `→ ${where}?` : "";
  const button = el("button", { type: "button" },
    el("div", { class: "line" },
      el("span", { class: "pod", text: decision.pod, title: decision.pod }),
      el("time", { dateTime: decision.time, text: timeOfDay(decision.time) })),
    el("div", { class: "words" },
      el("span", { class: "to", text: to }),
      swayed ? el("span", { class: "tag", text: "not our first choice" }) : null,
      decision.answered ? null : el("span", { class: "tag", text: "shadow" }),
      ` ${decision.sentence}`));
  button.addEventListener("click", () => openDecision(decision.pod));
  return el("li", {}, button);
}

/** Up and down between decisions. */
function walk(event, list) {
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  const next = step && document.activeElement.closest("li")?.[step];
  if (!next) return;
  next.querySelector("button")?.focus();
  event.preventDefault();
}
