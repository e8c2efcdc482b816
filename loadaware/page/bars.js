/**
 * Nodes as a table with bars. A real table, of which only the rows in sight exist: five thousand nodes are as quick as
 * fifty. While somebody points at it, or walks in it, the order holds still.
 */
import { colourOf, HOT } from "./colour.js";
import { byId, el, percent, say } from "./dom.js";
import { state } from "./state.js";

const ROW = 34;
const BEYOND = 6;

export class Bars {
  /** @param {(name: string) => void} open */
  constructor(open) {
    this.root = byId("bars");
    this.open = open;
    /** @type {number[]} */ this.rows = [];
    this.current = 0;
    this.held = false;
    this.body = el("tbody");
    this.before = space();
    this.after = space();
    /** @type {any[]} */ this.pool = [];
    this.table = el("table", { "aria-label": "Nodes" }, heads(), this.body);
    this.root.append(this.table);
    this.root.addEventListener("scroll", () => this.draw());
    this.root.addEventListener("pointerenter", () => (this.held = true));
    this.root.addEventListener("pointerleave", () => (this.held = false));
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => this.chosen(event.target.closest("tr.node")));
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  /** Whether the order must stay as it is. */
  get holds() {
    return this.held || this.body.contains(document.activeElement);
  }

  /** @param {number[]} rows */
  show(rows) {
    this.rows = rows;
    this.current = Math.min(this.current, Math.max(rows.length - 1, 0));
    this.table.setAttribute("aria-rowcount", String(rows.length + 1));
    this.draw();
  }

  draw() {
    if (this.root.hidden || !state.nodes) return;
    const seen = Math.ceil((this.root.clientHeight || 600) / ROW) + 2 * BEYOND;
    const first = Math.max(0, Math.min(Math.floor(this.root.scrollTop / ROW) - BEYOND, this.rows.length - seen));
    const last = Math.min(first + seen, this.rows.length);
    while (this.pool.length < last - first) this.pool.push(row());
    const wanted = this.pool.slice(0, last - first);
    wanted.forEach((each, n) => fill(each, this.rows[first + n], first + n, first + n === this.current));
    stretch(this.before, first);
    stretch(this.after, this.rows.length - last);
    const children = [this.before, ...wanted.map((each) => each.root), this.after];
    if (children.length !== this.body.children.length) this.body.replaceChildren(...children);
    this.first = first;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const page = Math.max(Math.floor(this.root.clientHeight / ROW) - 1, 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" || event.key === " ") this.chosen(event.target.closest("tr.node"));
    else if (event.key in steps) this.move(this.current + steps[event.key]);
    else return;
    event.preventDefault();
  }

  move(to) {
    this.current = Math.max(0, Math.min(to, this.rows.length - 1));
    const top = this.current * ROW;
    const room = this.root.clientHeight - 2 * ROW;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (top > this.root.scrollTop + room) this.root.scrollTop = top - room;
    this.draw();
    this.pool[this.current - this.first]?.root.focus({ preventScroll: true });
  }

  chosen(row) {
    if (!row) return;
    this.current = Number(row.dataset.place);
    this.draw();
    this.open(row.dataset.node);
  }
}

function heads() {
  const head = (text, kind) => el("th", { text, class: kind, scope: "col" });
  return el("thead", {}, el("tr", {}, head("Node", "name"), head("CPU", ""), head("", "num percent"), head("Memory", "num small optional"), head("In flight", "num small optional"), head("Score", "num small")));
}

function space() {
  return el("tr", { class: "space", "aria-hidden": "true" }, el("td", { colSpan: 6 }));
}

/** @param {HTMLElement} space @param {number} rows */
function stretch(space, rows) {
  space.firstElementChild.style.height = `${rows * ROW}px`;
  space.hidden = rows === 0;
}

function row() {
  const name = el("span");
  const tag = el("span", { class: "tag", hidden: true });
  const [load, whisker, limit] = [el("i"), el("b"), el("s")];
  const bar = el("div", { class: "bar", "aria-hidden": "true" }, load, limit, whisker);
  const cells = ["num percent", "num small optional", "num small optional", "num small"].map((kind) => el("td", { class: kind }));
  const root = el("tr", { class: "node" }, el("td", { class: "name" }, name, tag), el("td", {}, bar), ...cells);
  return { root, name, tag, load, whisker, cells };
}

const RUNGS = ["", "ageing", "expired", "not measured"];

/** Put one node into a row that is there already. */
function fill(drawn, at, place, current) {
  const nodes = state.nodes;
  const [load, deviation] = [nodes.cpu[at], nodes.cpuDeviation[at] ?? 0];
  const name = nodes.names[at];
  drawn.root.dataset.node = name;
  drawn.root.dataset.place = String(place);
  drawn.root.tabIndex = current ? 0 : -1;
  drawn.root.setAttribute("aria-rowindex", String(place + 2));
  say(drawn.name, name);
  const doubt = nodes.quarantined[name] ? "not believed" : RUNGS[nodes.rung[at]];
  say(drawn.tag, doubt);
  drawn.tag.hidden = !doubt;
  drawn.load.style.width = `${Math.min(load ?? 0, 1) * 100}%`;
  drawn.load.style.backgroundColor = colourOf(load);
  drawn.whisker.style.left = `${Math.max((load ?? 0) - deviation, 0) * 100}%`;
  drawn.whisker.style.width = load === null ? "0" : `${(Math.min(load + deviation, 1) - Math.max(load - deviation, 0)) * 100}%`;
  const flying = nodes.inFlightPods[at];
  const texts = [percent(load), percent(nodes.memory[at]), flying ? String(Math.round(flying * 10) / 10) : "", nodes.score[at] === null ? "–" : String(Math.round(nodes.score[at]))];
  texts.forEach((text, n) => say(drawn.cells[n], text));
  drawn.cells[0].classList.toggle("hotmark", load > HOT);
}
