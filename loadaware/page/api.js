/** Questions to the server. The token, if one is needed, is asked for once and kept in this tab alone. */
import { byId, say } from "./dom.js";

const KEPT = "loadaware-token";
const token = () => sessionStorage.getItem(KEPT);
const asking = { promise: null };

/** A header that no proxy takes for itself. */
const headers = () => (token() ? { "X-Loadaware-Token": token() } : {});

/** An answer that is not what was asked for. */
export class Refused extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * Ask; with a token if one is needed.
 * @param {string} path relative, so that the page works behind a proxy's prefix
 * @param {RequestInit} [options]
 * @returns {Promise<Response>} one that is fine; raises Refused otherwise
 */
export async function ask(path, options = {}) {
  for (;;) {
    const used = token();
    const response = await fetch(path, { ...options, headers: { ...headers(), ...options.headers }, cache: "no-store" });
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (response.status !== 401) throw new Refused(problem, response.status);
    if (token() === used) await askForToken(used ? problem : "");
  }
}

/** @param {string} path @param {RequestInit} [options] */
export const askJson = async (path, options) => (await ask(path, options)).json();

async function problemOf(response) {
  try {
    return (await response.json()).error ?? `answered ${response.status}`;
  } catch {
    return `answered ${response.status}`;
  }
}

/** One dialog, however many wait for it. */
function askForToken(problem) {
  asking.promise ??= new Promise((resolve) => {
    const dialog = byId("token");
    const value = byId("token-value");
    if (problem) say(byId("token-problem"), `${problem}. Try another.`);
    value.value = "";
    dialog.oncancel = (event) => event.preventDefault();
    dialog.onclose = () => {
      sessionStorage.setItem(KEPT, value.value.trim());
      value.value = "";
      asking.promise = null;
      resolve(undefined);
    };
    if (!dialog.open) dialog.showModal();
    value.focus();
  });
  return asking.promise;
}
