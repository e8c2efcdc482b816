/** Which nodes are shown, and in which order: positions in the columns of the stream. */
import { state } from "./state.js";

const known = (value) => (value === null || value === undefined ? -Infinity : value);

const KEYS = {
  cpu: (nodes, row) => known(nodes.cpu[row]),
  score: (nodes, row) => known(nodes.score[row]),
  inFlight: (nodes, row) => known(nodes.inFlightPods[row]),
  memory: (nodes, row) => known(nodes.memory[row]),
};

/** Names with numbers in them in the order of the numbers. */
const names = new Intl.Collator("en", { numeric: true });

/**
 * @param {string} sort cpu, name, score, inFlight or memory
 * @param {string} find a part of the name
 * @returns {number[]}
 */
export function ordered(sort, find) {
  const nodes = state.nodes;
  const wanted = find.trim().toLowerCase();
  const rows = [];
  nodes.names.forEach((name, row) => (!wanted || name.toLowerCase().includes(wanted)) && rows.push(row));
  const byName = (a, b) => names.compare(nodes.names[a], nodes.names[b]);
  if (sort === "name") return rows.sort(byName);
  const key = KEYS[sort];
  return rows.sort((a, b) => key(nodes, b) - key(nodes, a) || a - b);
}

/** The row of the hottest node, or -1. */
export function hottest() {
  const { cpu } = state.nodes;
  return cpu.reduce((best, load, row) => (known(load) > known(cpu[best]) ? row : best), cpu.length ? 0 : -1);
}
