/** The panel on the right in which one node, or one decision, is read. Esc closes it; focus goes back where it was. */
import { byId, el } from "./dom.js";

let showing = "";

/**
 * Show something.
 * @param {string} title
 * @param {string} key what is shown; a slow answer for something else is dropped
 * @param {() => Promise<Node[]>} content
 */
export async function openDrawer(title, key, content) {
  const drawer = byId("drawer");
  const close = el("button", { type: "button", text: "Close", "aria-label": "Close" });
  close.addEventListener("click", () => drawer.close());
  const inside = el("div", { class: "in" }, el("p", { class: "hint", text: "One moment …" }));
  const head = el("div", { class: "head" }, el("h2", { id: "drawer-title", text: title, tabIndex: -1 }), el("div", { class: "tools" }, close));
  drawer.replaceChildren(head, inside);
  drawer.scrollTop = 0;
  showing = key;
  if (!drawer.open) drawer.showModal();
  close.focus();
  try {
    const made = await content();
    if (showing === key) inside.replaceChildren(...made);
  } catch (error) {
    if (showing === key) inside.replaceChildren(el("p", { class: "problem", role: "alert", text: error.message }));
  }
}

/** Make what is shown anew, if it is still that. @param {string} key @param {() => Promise<Node[]>} content */
export async function refreshDrawer(key, content) {
  const drawer = byId("drawer");
  if (!drawer.open || showing !== key) return;
  try {
    const made = await content();
    if (drawer.open && showing === key) drawer.querySelector(".in").replaceChildren(...made);
  } catch {
    // what is shown stays: a node may just have left
  }
}

/** A click beside it closes it. */
export function startDrawer() {
  const drawer = byId("drawer");
  drawer.addEventListener("click", (event) => event.target === drawer && drawer.close());
  drawer.addEventListener("close", () => (showing = ""));
}
