/** Elements and words: the few helpers that every part of the page uses. Text is always set as text, never as markup. */

/**
 * An element. `properties` are set on it (class, text, hidden, dataset ...); names with a dash become attributes.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node|string|null)} children
 * @returns {HTMLElement}
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name.includes("-") || name === "role" || name === "scope") element.setAttribute(name, String(value));
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** An element of the page by its id. @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** Set text only where it differs, so that nothing is laid out in vain. @param {Element} element @param {string} text */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Tell those who listen instead of looking. @param {string} text */
export const announce = (text) => say(byId("news"), text);

/** A share as a percentage; a dash for what is not known. @param {number|null|undefined} share */
export const percent = (share) => (share === null || share === undefined ? "–" : `${Math.round(share * 100)} %`);

/** Cores in three digits. @param {number|null|undefined} cores */
export function coresText(cores) {
  if (cores === null || cores === undefined) return "–";
  return cores < 10 ? `${Math.round(cores * 1000)}m` : cores.toFixed(1);
}

/** Bytes as a manifest would say it. @param {number|null|undefined} bytes */
export function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  return bytes < 10 * 2 ** 30 ? `${Math.round(bytes / 2 ** 20)}Mi` : `${(bytes / 2 ** 30).toFixed(1)}Gi`;
}

/** How long, in the unit that suits it. @param {number|null|undefined} seconds */
export function age(seconds) {
  if (seconds === null || seconds === undefined) return "never";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** The time of day of an instant, as its own clock has it. @param {string} instant RFC 3339 */
export const timeOfDay = (instant) => instant.slice(11, 19);

/** A table. @param {{text: string, class?: string}[]} heads @param {HTMLElement[]} rows @param {string} label */
export function table(heads, rows, label) {
  const head = el("tr", {}, ...heads.map((each) => el("th", { ...each, scope: "col" })));
  return el("table", { class: "plain", "aria-label": label }, el("thead", {}, head), el("tbody", {}, ...rows));
}
