/** The nodes: how they are sorted, found and shown. */
import { Bars } from "./bars.js";
import { Cells } from "./cells.js";
import { colourOf, HOT } from "./colour.js";
import { byId, coresText, bytesText, el, say } from "./dom.js";
import { ordered } from "./order.js";
import { on, state } from "./state.js";

/** Up to so many nodes bars are shown first, beyond that cells. */
const FEW = 120;

/** @param {(name: string) => void} open @returns {() => void} draws it anew */
export function startNodes(open) {
  const views = { bars: new Bars(open), cells: new Cells(open) };
  const [find, sort] = [byId("find"), byId("sort")];
  let shown = "";
  let order = [];

  const show = (name) => {
    shown = name;
    for (const each of ["bars", "cells"]) {
      byId(each).hidden = each !== name;
      byId(`as-${each}`).setAttribute("aria-pressed", String(each === name));
    }
    draw(true);
  };

  const draw = (anew) => {
    if (!state.nodes) return;
    if (!shown) return show(state.nodes.names.length <= FEW ? "bars" : "cells");
    const same = order.length && order.every((row) => row < state.nodes.names.length);
    if (anew || !views[shown].holds || !same) order = ordered(sort.value, find.value);
    views[shown].show(order);
    const all = state.nodes.names.length;
    say(byId("nodes-count"), find.value ? `${order.length} of ${all}` : `${all}`);
  };

  byId("as-bars").addEventListener("click", () => show("bars"));
  byId("as-cells").addEventListener("click", () => show("cells"));
  find.addEventListener("input", () => draw(true));
  find.addEventListener("keydown", (event) => event.key === "Enter" && order.length && open(state.nodes.names[order[0]]));
  sort.addEventListener("change", () => draw(true));
  let names = null;
  on("nodes", () => {
    const others = names !== null && (names.length !== state.nodes.names.length || names.some((name, row) => name !== state.nodes.names[row]));
    names = state.nodes.names;
    draw(others);
  });
  on("hello", legend);
  return () => {
    draw(false);
    legend();
  };
}

function legend() {
  if (!state.hello) return;
  const scale = el("canvas", { width: 120, height: 10 });
  const context = scale.getContext("2d");
  for (let x = 0; x < 120; x += 1) {
    context.fillStyle = colourOf(x / 120);
    context.fillRect(x, 0, 1, 10);
  }
  const { cpu, memory } = state.hello.reference;
  byId("legend").replaceChildren(
    el("span", {}, "CPU 0 %", scale, "100 %"),
    el("span", {}, el("span", { class: "whisker" }), "± deviation"),
    el("span", { text: `hot: above ${HOT * 100} %` }),
    el("span", { text: `score: what a pod of ${coresText(cpu)} and ${bytesText(memory)} would get, 0 to 100` }),
  );
}
