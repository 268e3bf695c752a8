// The numbers of a chart as a table: for those who cannot see the chart, and those who want to copy them.

import { become, sketch } from "./become.js";

/** A table. Every row begins with its own head, which may be several things. */
export const table = (heads, rows) => sketch("table", {},
  sketch("thead", {}, sketch("tr", {}, ...heads.map((head, i) => sketch("th", { scope: "col", class: i ? "num" : null }, head)))),
  sketch("tbody", {}, ...rows.map(([first, ...rest]) => sketch("tr", {},
    sketch("th", { scope: "row" }, ...[first].flat().map(cell)), ...rest.map((one) => sketch("td", { class: "num" }, cell(one)))))));

const cell = (value) => (value === null || value === undefined ? "–" : value.name ? value : String(value));

/** A table may be wider than the page: then it scrolls, by keyboard too. */
export const scrolling = (label, made, id = null) =>
  sketch("div", { class: "scroll", id, tabindex: 0, role: "region", "aria-label": label }, made);

/** Put a table into the fold of the page that has this name. */
export function put(name, made) {
  const fold = document.querySelector(`[data-twin="${name}"]`);
  const place = fold.querySelector("div") ?? fold.appendChild(document.createElement("div"));
  become(place, scrolling(fold.querySelector("summary").textContent, made));
}
