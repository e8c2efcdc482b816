/** A node's window as a line chart, in SVG. */

const NAMESPACE = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [660, 210];
const EDGE = { left: 40, right: 8, top: 10, bottom: 24 };

function svg(tag, attributes, text) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * @param {{times: number[], lines: Record<string, (number|null)[]>, mean: number|null, deviation: number|null, label: string}} told
 *   lines are shares of what the node has, by the name of their class
 * @returns {SVGElement}
 */
export function chart({ times, lines, mean, deviation, label }) {
  const root = svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  const [first, last] = [times[0], times[times.length - 1]];
  const top = Math.max(1, ...Object.values(lines).flat().map((value) => value ?? 0));
  const x = (time) => EDGE.left + ((time - first) / Math.max(last - first, 1)) * (WIDTH - EDGE.left - EDGE.right);
  const y = (share) => EDGE.top + (1 - share / top) * (HEIGHT - EDGE.top - EDGE.bottom);
  for (const share of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
    root.append(svg("line", { class: share === 0.8 ? "limit" : "grid", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(share), y2: y(share) }));
    root.append(svg("text", { x: EDGE.left - 7, y: y(share) + 4, "text-anchor": "end" }, `${Math.round(share * 100)} %`));
  }
  if (mean !== null && deviation !== null) {
    const [high, low] = [y(Math.min(mean + deviation, top)), y(Math.max(mean - deviation, 0))];
    root.append(svg("rect", { class: "band", x: EDGE.left, width: WIDTH - EDGE.left - EDGE.right, y: high, height: Math.max(low - high, 1) }));
  }
  for (const [kind, values] of Object.entries(lines)) root.append(svg("path", { class: kind, d: path(times, values, x, y) }));
  const minutes = Math.round((last - first) / 60);
  root.append(svg("text", { x: EDGE.left, y: HEIGHT - 6 }, `${minutes} min before`));
  root.append(svg("text", { x: WIDTH - EDGE.right, y: HEIGHT - 6, "text-anchor": "end" }, "newest measurement"));
  return root;
}

/** A line that breaks off where nothing was measured. */
function path(times, values, x, y) {
  let drawn = "";
  let pen = "M";
  values.forEach((value, n) => {
    if (value === null) pen = "M";
    else {
      drawn += `${pen}${x(times[n]).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
    }
  });
  return drawn;
}
