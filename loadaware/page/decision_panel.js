/** One decision: the sentence, what would have to change, and the table of nodes behind it. */
import { askJson } from "./api.js";
import { el, percent, table, timeOfDay } from "./dom.js";
import { openDrawer } from "./drawer.js";

/** @param {string} pod namespace/name */
export const openDecision = (pod) => openDrawer(pod, `decision ${pod}`, async () => explanation(await askJson(`explain?pod=${encodeURIComponent(pod)}`)));

/** What /explain, or /what-if, told. @param {any} told @returns {Node[]} */
export function explanation(told) {
  const made = [el("p", { class: "sentence", text: `${told.sentence}.` })];
  if (told.toWin) made.push(el("h3", { text: "What would have to change" }), el("p", { text: `${told.toWin.words}.` }));
  if (told.nodes.length) made.push(el("h3", { text: told.nodes.length < told.nodesAsked ? `The best ${told.nodes.length} of ${told.nodesAsked} nodes` : `All ${told.nodesAsked} nodes` }), nodes(told));
  const rejected = Object.entries(told.rejected);
  if (rejected.length) made.push(el("h3", { text: `Rejected (${rejected.length})` }), rejections(rejected));
  const weights = Object.entries(told.weights ?? {}).map(([name, weight]) => `${name} × ${weight}`);
  const skipped = Object.entries(told.skipped ?? {}).map(([name, why]) => `${name} had no say: ${why}`);
  const facts = [`profile ${told.profile}`, weights.join(", "), ...skipped, `answered at ${timeOfDay(told.time)}`, told.dataAgeSeconds === null ? "" : `on data ${Math.round(told.dataAgeSeconds)} s old`];
  made.push(el("p", { class: "hint", text: `${facts.filter(Boolean).join(" · ")}` }));
  return made;
}

function nodes(told) {
  const several = Object.keys(told.weights ?? {}).length > 1;
  const scorers = several ? Object.keys(told.weights) : [];
  const heads = [{ text: "Place", class: "num" }, { text: "Node" }, { text: "Score", class: "num" }, ...scorers.map((text) => ({ text, class: "num" })), { text: "CPU after", class: "num" }, { text: "Memory after", class: "num" }, { text: "In flight", class: "num" }];
  const rows = told.nodes.map((node) => {
    const name = el("td", { text: node.node });
    if (node.node === told.chosen) name.append(el("span", { class: "tag", text: "it went here" }));
    if (node.rung !== "fresh") name.append(el("span", { class: "tag", text: node.rung }));
    const row = el("tr", { class: node.node === told.chosen ? "chosen" : "" }, number(String(node.place)), name, number(score(node.score)));
    row.append(...scorers.map((scorer) => number(score(node.scorers[scorer]?.score))));
    row.append(number(predicted(node.predicted.cpu)), number(predicted(node.predicted.memory)), number(node.inFlightCores ? `${node.inFlightCores.toFixed(1)} cores` : ""));
    return row;
  });
  return table(heads, rows, "Nodes by score");
}

const number = (text) => el("td", { class: "num", text });
const score = (value) => (value === null || value === undefined ? "–" : value.toFixed(0));

function predicted(resource) {
  if (!resource || resource.utilization === null) return "not measured";
  return percent(resource.utilization) + (resource.deviation === null ? "" : ` ± ${Math.round(resource.deviation * 100)}`);
}

function rejections(rejected) {
  const rows = rejected.slice(0, 50).map(([node, why]) => el("tr", {}, el("td", { text: node }), el("td", { text: why })));
  return table([{ text: "Node" }, { text: "Why" }], rows, "Rejected nodes");
}
