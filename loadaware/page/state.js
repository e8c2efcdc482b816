/** What the page knows: the last of each kind of line. Parts listen; nobody else keeps a copy. */

const MOST_DECISIONS = 200;

export const state = {
  /** @type {any} */ hello: null,
  /** @type {any} */ nodes: null,
  /** @type {any} */ tick: null,
  /** newest first @type {any[]} */ decisions: [],
  more: 0,
};

/** @type {Record<string, (() => void)[]>} */
const listeners = { hello: [], nodes: [], tick: [], decisions: [] };

/** @param {"hello"|"nodes"|"tick"|"decisions"} kind @param {() => void} listener */
export const on = (kind, listener) => listeners[kind].push(listener);

/** Take a line of the stream. @param {any} message */
export function take(message) {
  state[message.kind] = message;
  if (message.kind === "hello") {
    state.decisions = [];
    state.more = 0;
  }
  if (message.kind === "tick" && (message.decisions.length || message.more)) {
    takeDecisions(message);
    tell("decisions");
  }
  tell(message.kind);
}

function takeDecisions(message) {
  for (const decision of message.decisions) {
    const known = state.decisions.findIndex((each) => each.id === decision.id);
    if (known >= 0) state.decisions[known] = decision;
    else state.decisions.unshift(decision);
  }
  state.decisions.length = Math.min(state.decisions.length, MOST_DECISIONS);
  state.more += message.more;
}

function tell(kind) {
  for (const listener of listeners[kind]) listener();
}
