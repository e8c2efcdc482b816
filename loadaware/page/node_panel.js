/** One node: its numbers, its window, why the last pod did not go there, its pods. */
import { askJson } from "./api.js";
import { chart } from "./chart.js";
import { age, bytesText, coresText, el, percent, table } from "./dom.js";
import { openDrawer } from "./drawer.js";
import { openDecision } from "./decision_panel.js";
import { state } from "./state.js";

const REASONS = {
  absurd: "it was said to use more than twice what it has",
  negative: "it was said to use less than nothing",
  nan: "what was said of it is no number",
  future: "its measurements come from the future: are the clocks right?",
  frozen: "its measurements stand still",
};

/** @param {string} name */
export const openNode = (name) => openDrawer(name, `node ${name}`, () => told(name));

async function told(name) {
  const node = await askJson(`node?name=${encodeURIComponent(name)}`);
  return [facts(node, name), ...doubts(node), ...decision(node.why, name), ...passedOver(node.passedOver), ...windowOf(node), ...podsOf(node)];
}

function facts(node, name) {
  const { cpu, memory } = node.usage;
  const row = state.nodes.names.indexOf(name);
  const expected = row < 0 ? null : state.nodes.cpuExpected[row];
  const score = row < 0 ? null : state.nodes.score[row];
  const share = (amount, resource) => (amount === null ? null : amount / node.allocatable[resource]);
  const fact = (label, value, small = "") => el("div", {}, el("div", { class: "label", text: label }), el("div", { class: "value" }, value, el("small", { text: small })));
  return el("div", { class: "facts" },
    fact("CPU in use", percent(cpu.utilization ?? share(cpu.latest, "cpu")), cpu.deviation === null ? "" : ` ± ${Math.round(share(cpu.deviation, "cpu") * 100)}`),
    fact("CPU expected", percent(expected), ` of ${node.allocatable.cpu} cores`),
    fact("Memory in use", percent(memory?.utilization), ` of ${bytesText(node.allocatable.memory)}`),
    fact("Score", score === null ? "–" : String(Math.round(score)), " of 100"),
    fact("CPU requested", percent(share(node.requested.cpu, "cpu"))),
    fact("Pods", String(Math.round(node.pods))),
    fact("In flight", String(Math.round(node.inFlight.pods)), ` pods, ${node.inFlight.cores.toFixed(1)} cores`),
    fact("Measured", node.ageSeconds === null ? "frozen" : `${age(node.ageSeconds)}`, node.ageSeconds === null ? "" : ` ago, ${node.rung}`),
  );
}

function doubts(node) {
  const told = [];
  if (node.quarantined) told.push(`Not believed: ${REASONS[node.quarantined] ?? node.quarantined}. It stands at the median until that is over.`);
  if (node.rung !== "fresh") told.push(`Its measurements are ${node.rung}: it is neither idle nor hot to us, but drawn to the median.`);
  return told.map((text) => el("p", { class: "problem", text }));
}

function decision(why, name) {
  if (!why) return [];
  const here = why.chosen === name;
  const title = el("h3", { text: here ? "Why the last pod went here" : "Why the last pod did not go here" });
  const more = el("button", { type: "button", text: `Read the whole decision about ${why.pod}` });
  more.addEventListener("click", () => openDecision(why.pod));
  const words = !here && why.toWin ? el("p", { text: `${why.toWin.words}.` }) : null;
  return [title, el("p", { class: "sentence", text: `${why.pod}: ${why.sentence}.` }), ...(words ? [words] : []), more];
}

/** Nothing was decided about it, for kube-scheduler did not ask. */
function passedOver(told) {
  if (!told) return [];
  return [el("h3", { text: "Why the last pod did not go here" }), el("p", { class: "sentence", text: `${told.pod}: ${told.words}.` })];
}

function windowOf(node) {
  const seen = node.observed;
  const title = el("h3", { text: "The last quarter of an hour" });
  if (!seen || seen.times.length < 2) {
    const { mean, latest, maximum } = node.usage.cpu;
    const known = [["mean", mean], ["latest", latest], ["maximum", maximum]].filter(([, value]) => value !== null).map(([word, value]) => `${word} ${coresText(value)}`);
    const text = known.length ? `Single samples are not known here. CPU over the window: ${known.join(", ")}.` : "Nothing was measured yet.";
    return [title, el("p", { class: "hint", text })];
  }
  title.textContent = `The last ${Math.round(seen.windowSeconds / 60)} minutes`;
  const shares = (resource) => seen.samples[resource]?.map((value) => (value === null ? null : value / node.allocatable[resource]));
  const lines = { memory: shares("memory") ?? [], cpu: shares("cpu") };
  const { mean, deviation } = node.usage.cpu;
  const cpu = node.allocatable.cpu;
  const drawn = chart({ times: seen.times, lines, mean: mean === null ? null : mean / cpu, deviation: deviation === null ? null : deviation / cpu, label: `CPU and memory of ${node.name}: CPU from ${percent(Math.min(...lines.cpu))} to ${percent(Math.max(...lines.cpu))}` });
  return [title, drawn, el("div", { class: "key" }, el("span", { text: "— CPU" }), el("span", { text: "- - memory" }), el("span", { text: "shaded: mean ± deviation of CPU" }), el("span", { text: "dotted: 80 %" }))];
}

function podsOf(node) {
  const seen = node.observed;
  if (!seen) return [el("h3", { text: "Pods" }), el("p", { class: "hint", text: `${Math.round(node.pods)} pods are bound here, requesting ${coresText(node.requested.cpu)} of CPU and ${bytesText(node.requested.memory)}. Which they are is not told: nobody watches pods here.` })];
  const newest = seen.times[seen.times.length - 1] ?? -Infinity;
  const rows = seen.pods.map((pod) => podRow(pod, newest));
  const heads = [{ text: "Pod" }, { text: "Requests", class: "num" }, { text: "Uses", class: "num" }, { text: "Expected CPU", class: "num" }];
  const hidden = seen.podCount - seen.pods.length;
  return [el("h3", { text: `Pods (${seen.podCount}), those expected to use the most first` }), table(heads, rows, "Pods"), ...(hidden ? [el("p", { class: "hint", text: `and ${hidden} more` })] : [])];
}

function podRow(pod, newest) {
  const { requested, used, expected, deviation } = pod.resources.cpu;
  const flying = pod.boundAt !== null && pod.boundAt > newest;
  const name = el("td", { class: "cut", title: pod.pod, text: pod.pod });
  if (flying) name.prepend(el("span", { class: "tag", text: "in flight" }), " ");
  const spread = expected === null ? "" : ` ± ${coresText(deviation)}`;
  return el("tr", {}, name, el("td", { class: "num", text: requested ? coresText(requested) : "none" }), el("td", { class: "num", text: coresText(used) }), el("td", { class: "num", text: coresText(expected) + spread }));
}
