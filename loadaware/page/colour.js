/**
 * The scale of load: blue up to two thirds, then amber to red, ever stronger against the ground. Blue and orange are told apart by
 * everybody, and what is hot is marked besides (a corner, a word): colour never stands alone.
 */

/** From here on a node is hot. */
export const HOT = 0.8;

const LIGHT = [[0, 236, 242, 248], [0.45, 172, 204, 234], [0.66, 94, 155, 212], [0.7, 244, 207, 138], [0.8, 236, 154, 60], [0.9, 212, 86, 26], [1, 156, 28, 10]];
const DARK = [[0, 31, 41, 54], [0.45, 35, 75, 112], [0.66, 62, 130, 186], [0.7, 176, 137, 62], [0.8, 222, 146, 50], [0.9, 246, 112, 48], [1, 255, 80, 66]];
const UNKNOWN = { light: "rgb(214 219 225)", dark: "rgb(58 66 76)" };

export const isDark = () => document.documentElement.dataset.theme === "dark";

/** The three parts of the colour of a load. @param {number} load @returns {number[]} */
function parts(load) {
  const stops = isDark() ? DARK : LIGHT;
  const share = Math.min(Math.max(load, 0), 1);
  const next = Math.max(stops.findIndex((stop) => stop[0] >= share), 1);
  const [from, to] = [stops[next - 1], stops[next]];
  const way = (share - from[0]) / (to[0] - from[0]);
  return [1, 2, 3].map((part) => Math.round(from[part] + way * (to[part] - from[part])));
}

/** The colour of a load; grey for what is not measured. @param {number|null} load */
export function colourOf(load) {
  if (load === null || load === undefined) return isDark() ? UNKNOWN.dark : UNKNOWN.light;
  return `rgb(${parts(load).join(" ")})`;
}

/** Black or white, whichever is read better on that colour. @param {number|null} load */
export function inkOn(load) {
  if (load === null || load === undefined) return isDark() ? "#fff" : "#17202b";
  const [red, green, blue] = parts(load);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#17202b" : "#fff";
}

/** Light or dark: as chosen here, else as the system has it. */
export function startTheme(button, changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.documentElement.dataset.theme = localStorage.getItem("loadaware-theme") ?? (system.matches ? "dark" : "light");
    changed();
  };
  system.addEventListener("change", apply);
  button.addEventListener("click", () => {
    localStorage.setItem("loadaware-theme", isDark() ? "light" : "dark");
    apply();
  });
  apply();
}
