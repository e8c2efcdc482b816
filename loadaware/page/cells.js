/**
 * Nodes as cells of one canvas: five thousand at a glance. Arrow keys walk, Enter opens, and where one stands is told
 * beneath and to screen readers; the table of bars is the full alternative.
 */
import { colourOf, HOT, inkOn } from "./colour.js";
import { byId, el, percent, say } from "./dom.js";
import { state } from "./state.js";

const HEIGHT = 430;
const LARGEST = 92;
const SMALLEST = 7;

/** How many columns make the largest squares that fit. */
function layout(count, width, height) {
  let side = Math.min(Math.floor(Math.sqrt((width * height) / Math.max(count, 1))), LARGEST);
  while (side > SMALLEST && Math.ceil(count / Math.floor(width / side)) * side > height) side -= 1;
  side = Math.max(side, SMALLEST);
  const columns = Math.max(Math.floor(width / side), 1);
  return { side, columns, lines: Math.ceil(count / columns) };
}

/** Draw cells, with names where there is room for them. */
function paint(canvas, loads, width, names) {
  const grid = layout(loads.length, width, HEIGHT);
  const { side, columns, lines } = grid;
  const scale = devicePixelRatio || 1;
  const tall = Math.max(lines * side, 1);
  canvas.width = width * scale;
  canvas.height = tall * scale;
  canvas.style.height = `${tall}px`;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  grid.drawn = side - (side > 14 ? 3 : 1);
  loads.forEach((load, n) => cell(context, load, (n % columns) * side, Math.floor(n / columns) * side, grid.drawn, names?.[n]));
  return grid;
}

function cell(context, load, x, y, side, name) {
  context.fillStyle = colourOf(load);
  if (side > 20) {
    context.beginPath();
    context.roundRect(x, y, side, side, 6);
    context.fill();
  } else context.fillRect(x, y, side, side);
  context.fillStyle = inkOn(load);
  if (load > HOT && side > 11) corner(context, x, y, side);
  if (name === undefined || side < 44) return;
  context.textBaseline = "alphabetic";
  context.font = "600 16px system-ui, sans-serif";
  context.fillText(load === null ? "–" : percent(load), x + 9, y + side - 11, side - 14);
  context.font = "12px system-ui, sans-serif";
  context.fillText(name, x + 9, y + 19, side - 22);
}

/** What marks a hot one for those who do not see the colour. */
function corner(context, x, y, side) {
  const size = side / 5;
  context.beginPath();
  context.moveTo(x + side, y);
  context.lineTo(x + side, y + size);
  context.lineTo(x + side - size, y);
  context.fill();
}

export class Cells {
  /** @param {(name: string) => void} open */
  constructor(open) {
    this.root = byId("cells");
    this.open = open;
    /** @type {number[]} */ this.rows = [];
    this.current = -1;
    this.canvas = el("canvas", { tabIndex: 0, role: "application", "aria-roledescription": "map of nodes", "aria-describedby": "cells-where" });
    this.where = el("div", { class: "where muted", id: "cells-where", role: "status" });
    this.ring = el("div", { class: "ring", hidden: true });
    this.root.append(this.canvas, this.ring, this.where);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("focus", () => this.move(Math.max(this.current, 0)));
    this.canvas.addEventListener("blur", () => this.move(-1));
    this.canvas.addEventListener("pointermove", (event) => this.move(this.at(event)));
    this.canvas.addEventListener("pointerleave", () => document.activeElement !== this.canvas && this.move(-1));
    this.canvas.addEventListener("click", (event) => this.choose(this.at(event)));
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  get holds() {
    return this.current >= 0;
  }

  show(rows) {
    this.rows = rows;
    this.canvas.setAttribute("aria-label", `${rows.length} nodes by CPU; arrow keys walk, Enter opens`);
    this.draw();
  }

  draw() {
    if (this.root.hidden || !state.nodes) return;
    const nodes = state.nodes;
    const few = this.rows.length <= 400;
    const names = few ? this.rows.map((row) => nodes.names[row]) : null;
    this.grid = paint(this.canvas, this.rows.map((row) => nodes.cpu[row]), this.root.clientWidth, names);
    this.stand();
  }

  /** Show where one stands: a frame above the canvas, so that nothing is painted anew. */
  stand() {
    const { side, columns, drawn } = this.grid;
    this.ring.hidden = this.current < 0;
    this.ring.style.width = this.ring.style.height = `${drawn}px`;
    this.ring.style.transform = `translate(${(this.current % columns) * side}px, ${Math.floor(this.current / columns) * side}px)`;
    say(this.where, this.words());
  }

  words() {
    const row = this.rows[this.current];
    if (row === undefined) return "";
    const nodes = state.nodes;
    const score = nodes.score[row];
    return `${nodes.names[row]}: CPU ${percent(nodes.cpu[row])} ± ${Math.round((nodes.cpuDeviation[row] ?? 0) * 100)}, memory ${percent(nodes.memory[row])}, ${Math.round(nodes.inFlightPods[row])} in flight, score ${score === null ? "not known" : Math.round(score)}`;
  }

  at(event) {
    if (!this.grid) return -1;
    const column = Math.floor(event.offsetX / this.grid.side);
    const place = Math.floor(event.offsetY / this.grid.side) * this.grid.columns + column;
    return column < this.grid.columns && place < this.rows.length ? place : -1;
  }

  move(to) {
    if (to === this.current) return;
    this.current = Math.min(to, this.rows.length - 1);
    if (this.grid) this.stand();
  }

  key(event) {
    const { columns } = this.grid ?? { columns: 1 };
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" || event.key === " ") this.choose(this.current);
    else if (event.key in steps) this.move(Math.max(0, Math.min(this.current + steps[event.key], this.rows.length - 1)));
    else return;
    event.preventDefault();
  }

  choose(place) {
    if (place >= 0 && this.rows[place] !== undefined) this.open(state.nodes.names[this.rows[place]]);
  }
}
