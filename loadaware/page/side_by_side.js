/** The demo's two clusters side by side: the same pods, placed with loadaware and by kube-scheduler alone. */
import { HOT } from "./colour.js";
import { byId, el, percent, say, table } from "./dom.js";
import { skyline } from "./skyline.js";
import { on, state } from "./state.js";

const TITLES = { ours: "With loadaware", default: "kube-scheduler alone" };
const HEIGHT = 120;

/** @returns {() => void} draws it anew */
export function startSideBySide() {
  let parts = null;
  const draw = () => {
    const told = state.tick?.beside;
    if (!told) return;
    parts ??= build();
    byId("beside").hidden = false;
    for (const side of ["ours", "default"]) {
      const loads = [...told[side]].sort((a, b) => (b ?? -1) - (a ?? -1));
      const hot = loads.filter((load) => load > HOT).length;
      parts[side].canvas.setAttribute("aria-label", `${TITLES[side]}: ${hot} of ${loads.length} nodes above ${HOT * 100} %`);
      say(parts[side].count, `now: hottest ${percent(loads[0])}, ${hot} above ${HOT * 100} %`);
      skyline(parts[side].canvas, loads, parts[side].canvas.clientWidth || 300, HEIGHT);
    }
    say(parts.hint, `the same ${told.placed} pods since ${Math.round(told.minutes)} simulated minutes, ${told.speed} times as fast as real`);
    parts.figures.replaceChildren(figures(told.figures));
  };
  on("tick", draw);
  return draw;
}

function build() {
  const side = (name) => {
    const count = el("span");
    const canvas = el("canvas", { role: "img" });
    return { root: el("div", { class: "side", id: `side-${name}` }, el("h3", {}, TITLES[name], count), canvas), count, canvas };
  };
  const parts = { ours: side("ours"), default: side("default"), figures: el("div"), hint: el("span", { class: "hint" }) };
  byId("beside").replaceChildren(
    el("div", { class: "head" }, el("h2", { id: "beside-title", text: "Side by side" }), parts.hint),
    el("div", { class: "sides" }, parts.ours.root, parts.default.root, parts.figures));
  return parts;
}

function figures(told) {
  const rows = told.slice(1).map((figure) => {
    const better = figure.ours !== null && figure.ours < figure.default;
    const text = (value) => (value === null ? "–" : value.toFixed(value < 1 ? 2 : 1));
    return el("tr", {},
      el("td", { text: figure.title }),
      el("td", { class: `num ${better ? "better" : ""}`, text: `${text(figure.ours)} ${figure.unit}` }),
      el("td", { class: `num ${figure.default < figure.ours ? "better" : ""}`, text: `${text(figure.default)} ${figure.unit}` }));
  });
  return table([{ text: "lower is better" }, { text: "loadaware", class: "num" }, { text: "alone", class: "num" }], rows, "Both clusters compared");
}
