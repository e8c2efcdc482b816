/** Where the numbers come from, how old they are, and how far they are believed. And the word of it on top. */
import { age, byId, el, say } from "./dom.js";
import { on, state } from "./state.js";

const RUNGS = {
  fresh: "counts wholly",
  ageing: "fades towards the median",
  expired: "requests stand in",
  unknown: "stands at the median",
};

export function startSources() {
  on("tick", () => {
    health();
    if (!byId("source").closest("[data-panel]").hidden) draw();
  });
  return draw;
}

/** The pill on top: colour, shape and word. */
function health() {
  const { rung, dataAgeSeconds, source, mode, measured, nodes } = state.tick.state;
  const good = measured && rung === "fresh" && source.consecutiveFailures === 0;
  const pill = byId("health");
  pill.querySelector(".dot").className = `dot ${good ? "good" : "bad"}`;
  const old = dataAgeSeconds === null ? "frozen data" : `data ${age(dataAgeSeconds)} old`;
  say(pill.lastElementChild, measured ? `${rung} · ${old} · ${nodes} nodes` : "nothing measured yet");
  const badge = byId("mode");
  badge.hidden = false;
  badge.className = `pill ${mode}`;
  badge.title = mode === "shadow" ? "kube-scheduler gets neutral answers" : "kube-scheduler gets our scores";
  say(badge, mode);
}

function draw() {
  if (!state.tick) return;
  const { state: now, sources } = state.tick;
  byId("source").replaceChildren(facts(now, sources), ...troubles(now));
  byId("ladder").replaceChildren(...ladder(now), ...quarantine(now));
}

function facts(now, sources) {
  const read = Object.entries(sources).map(([name, seconds]) => `${name}, read ${age(seconds)} ago`).join("; ");
  const told = {
    Source: read || "none yet",
    "Newest measurement": now.dataAgeSeconds === null ? (now.measured ? "frozen: it never ages" : "none") : `${age(now.dataAgeSeconds)} old`,
    Readings: `${now.source.readings} good, ${now.source.failures} failed`,
    Nodes: String(now.nodes),
    Pods: now.podsKnown ? String(now.pods) : "may not be watched",
    Mode: now.mode === "shadow" ? "shadow: kube-scheduler gets neutral answers" : "active: kube-scheduler gets our scores",
    Ready: now.ready ? "yes" : "not yet",
  };
  return el("dl", {}, ...Object.entries(told).flatMap(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]));
}

function troubles(now) {
  const { consecutiveFailures, lastError, notes, forbidden } = now.source;
  const told = [
    ...(consecutiveFailures ? [`The last ${consecutiveFailures} readings failed: ${lastError}`] : []),
    ...notes,
    ...forbidden,
    ...Object.entries(now.switchedOff).map(([plugin, why]) => `${plugin} is switched off for now: ${why}`),
  ];
  return told.length ? [el("h3", { text: "To be looked at" }), ...told.map((text) => el("p", { class: "problem", text }))] : [];
}

function ladder(now) {
  const most = Math.max(now.nodes, 1);
  return Object.entries(RUNGS).map(([rung, meaning]) => {
    const load = el("i");
    load.style.width = `${(now.nodesOnRung[rung] / most) * 100}%`;
    load.style.backgroundColor = "var(--accent)";
    const bar = el("div", { class: "bar", "aria-hidden": "true" }, load);
    return el("div", { class: "rung" }, el("span", { text: rung }), el("span", { class: "hint", text: meaning }), bar, el("span", { class: "num", text: String(now.nodesOnRung[rung]) }));
  });
}

function quarantine(now) {
  const nodes = Object.entries(now.quarantined);
  if (!nodes.length) return [el("p", { class: "hint", text: "No node's measurements are doubted." })];
  return [el("h3", { text: `Not believed (${nodes.length})` }), el("dl", {}, ...nodes.slice(0, 50).flatMap(([node, why]) => [el("dt", { text: node }), el("dd", { text: why })]))];
}
