// A chart's numbers as a table, for those who cannot see the chart and those who want to copy them.

import { html } from "./svg.js";

export function twin(name, heads, lines) {
  const place = document.querySelector(`[data-twin="${name}"]`);
  if (!place) return;
  place.querySelector(".scroll")?.remove();
  place.append(html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": place.querySelector("summary").textContent },
    html("table", {},
      html("thead", {}, html("tr", {}, ...heads.map((head, i) => html("th", { scope: "col", class: i ? "num" : null }, head)))),
      html("tbody", {}, ...lines.map(([first, ...rest]) =>
        html("tr", {}, html("th", { scope: "row" }, String(first)), ...rest.map((cell) => html("td", { class: "num" }, cell === null || cell === undefined ? "–" : String(cell)))))))));
}

export const times = (ratio) => (Number.isFinite(ratio) ? `${ratio.toFixed(2)}×` : "–");
export const percent = (share) => `${Math.round(100 * share)} %`;
