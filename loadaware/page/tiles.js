/** The four or five numbers on top: is all well, and where is it hot? */
import { byId, el, percent, say } from "./dom.js";
import { HOT } from "./colour.js";
import { hottest } from "./order.js";
import { on, state } from "./state.js";

/** @param {(name: string) => void} open */
export function startTiles(open) {
  const tiles = byId("tiles");
  const first = tile("button", "Hottest node, by its mean");
  first.root.id = "hottest";
  first.root.type = "button";
  first.root.addEventListener("click", () => first.root.dataset.node && open(first.root.dataset.node));
  const hot = tile("div", `Nodes above ${HOT * 100} %`);
  const used = tile("div", "CPU in use");
  const spread = tile("div", "Spread across nodes");
  const flying = tile("div", "Pods in flight");
  tiles.append(first.root, hot.root, used.root, spread.root, flying.root);
  on("nodes", () => {
    const nodes = state.nodes;
    const row = hottest();
    const measured = nodes.cpu.map((load, n) => [load, nodes.cores[n]]).filter(([load]) => load !== null);
    fillHottest(first, nodes, row);
    hot.fill(String(measured.filter(([load]) => load > HOT).length), `of ${nodes.names.length}`);
    const cores = sum(measured.map(([, cores]) => cores));
    const busy = sum(measured.map(([load, cores]) => load * cores));
    used.fill(cores ? percent(busy / cores) : "–", `${busy.toFixed(0)} of ${cores.toFixed(0)} cores`);
    spread.fill(measured.length ? `${(deviation(measured.map(([load]) => load)) * 100).toFixed(1)}` : "–", "points; lower is better");
    const pods = sum(nodes.inFlightPods);
    flying.fill(String(Math.round(pods)), `${sum(nodes.inFlightCores).toFixed(1)} cores, not measured yet`);
  });
}

function fillHottest(tile, nodes, row) {
  if (row < 0 || nodes.cpu[row] === null) return tile.fill("–", "nothing is measured yet");
  tile.root.dataset.node = nodes.names[row];
  tile.fill(`${nodes.names[row]}  ${percent(nodes.cpu[row])}`, "why do pods not go there? →");
  tile.more.classList.add("link");
}

function tile(tag, label) {
  const value = el("span", { class: "value", text: "–" });
  const more = el("span", { class: "more", text: " " });
  const root = el(tag, { class: "tile" }, el("span", { class: "label", text: label }), value, more);
  return {
    root,
    more,
    fill(text, beneath) {
      say(value, text);
      say(more, beneath);
    },
  };
}

const sum = (numbers) => numbers.reduce((total, number) => total + (number ?? 0), 0);

function deviation(numbers) {
  const mean = sum(numbers) / numbers.length;
  return Math.sqrt(sum(numbers.map((number) => (number - mean) ** 2)) / numbers.length);
}
