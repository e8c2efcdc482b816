/** The profiles, and how those in shadow would have decided. */
import { askJson } from "./api.js";
import { byId, el, percent, table } from "./dom.js";
import { on, state } from "./state.js";

/** @returns {() => void} asks anew for what is not in the stream */
export function startProfiles() {
  on("hello", () => byId("profiles").replaceChildren(...state.hello.profiles.map(profile)));
  return shadow;
}

function profile(told) {
  const scorers = told.scorers.map((each) => `${each.name} × ${each.weight}`).join(", ") || "none: all nodes are equal";
  const name = el("p", {}, el("strong", { text: told.name }));
  if (told.shadow) name.append(el("span", { class: "tag", text: "shadow" }));
  if (told.name === state.hello.defaultProfile) name.append(el("span", { class: "tag", text: "for all other pods" }));
  return el("div", { class: "profile" }, name, el("dl", {},
    el("dt", { text: "Scorers" }), el("dd", { text: scorers }),
    el("dt", { text: "Filters" }), el("dd", { text: told.filters.join(", ") || "none" }),
    el("dt", { text: "On the wire" }), el("dd", { text: `0 to ${told.maxScore}, ${told.combine.toLowerCase()}` })));
}

async function shadow() {
  const place = byId("shadow");
  if (!state.hello?.features.shadow) return place.replaceChildren(el("p", { class: "hint", text: "Switched off here (people.shadow)." }));
  try {
    const told = await askJson("shadow");
    place.replaceChildren(...comparisons(told));
  } catch (error) {
    place.replaceChildren(el("p", { class: "problem", text: error.message }));
  }
}

function comparisons(told) {
  const mode = told.mode === "shadow" ? "Everything is in shadow: kube-scheduler gets neutral answers, and what we would have said is compared with what it did." : "Answers count. Profiles with shadow: true are scored aside, and never on the wire.";
  if (!told.comparisons.length) return [el("p", { text: mode }), el("p", { class: "hint", text: told.shadows.length ? "Nothing was compared yet." : "No profile is in shadow. To try one beside the others, add it to the configuration with shadow: true." })];
  const heads = [{ text: "Profile" }, { text: "beside" }, { text: "Requests", class: "num" }, { text: "Same first choice", class: "num" }, { text: "Rank correlation", class: "num" }, { text: "CPU of its choice", class: "num" }];
  const rows = told.comparisons.map((each) => el("tr", {},
    el("td", { text: each.profile }), el("td", { text: each.with }), el("td", { class: "num", text: String(each.requests) }),
    el("td", { class: "num", text: percent(each.agreement) }),
    el("td", { class: "num", text: each.rankCorrelation === null ? "–" : each.rankCorrelation.toFixed(2) }),
    el("td", { class: "num", text: each.loadDifference === null ? "–" : `${each.loadDifference > 0 ? "+" : ""}${(each.loadDifference * 100).toFixed(1)} points` })));
  return [el("p", { text: mode }), table(heads, rows, "Shadow comparison")];
}
