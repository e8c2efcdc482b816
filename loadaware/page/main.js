/** The page: parts are started, the stream is followed, the address says which view is open. */
import { startTheme } from "./colour.js";
import { startDecisions } from "./decisions.js";
import { byId, say } from "./dom.js";
import { startDrawer } from "./drawer.js";
import { openNode } from "./node_panel.js";
import { startNodes } from "./nodes.js";
import { startProfiles } from "./profiles.js";
import { startSideBySide } from "./side_by_side.js";
import { startSources } from "./sources.js";
import { on, state, take } from "./state.js";
import { follow } from "./stream.js";
import { startTiles } from "./tiles.js";
import { startWhatIf } from "./what_if.js";

startDrawer();
startTiles(openNode);
startDecisions();
startWhatIf();
const drawNodes = startNodes(openNode);
const drawSides = startSideBySide();
const drawProfiles = startProfiles();
const drawSources = startSources();
const drawn = { nodes: () => [drawNodes(), drawSides()], profiles: drawProfiles, sources: drawSources, "what-if": () => {} };

/** Show the view that the address names. */
function show() {
  const named = location.hash.slice(1);
  const view = named in drawn ? named : "nodes";
  for (const panel of document.querySelectorAll("[data-panel]")) panel.hidden = panel.dataset.panel !== view;
  for (const link of byId("views").children) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  drawn[view]();
}

/** Say what is wrong with the connection, if anything is. @param {string} problem */
function lost(problem) {
  const banner = byId("banner");
  banner.hidden = !problem;
  say(banner, problem);
  if (problem) {
    byId("health").querySelector(".dot").className = "dot bad";
    say(byId("health").lastElementChild, "not connected");
  }
}

addEventListener("hashchange", show);
on("hello", () => {
  byId("views").querySelector("[data-view=what-if]").hidden = !state.hello.features.whatIf;
  show();
});
startTheme(byId("theme"), () => state.nodes && show());
show();
follow(take, lost);
