// One pair over time: a line per strategy, broken where hardware or versions became other ones.

import { ticks } from "../core/stats.js";
import { mark, svg } from "../core/svg.js";

const HEIGHT = 320, LEFT = 48, RIGHT = 112, BOTTOM = 28;

/** Points of one label, split wherever what they ran on changed. */
export function pieces(points) {
  const found = new Map();
  for (const point of points) {
    const lines = found.get(point.label) ?? [];
    const last = lines.at(-1)?.at(-1);
    if (last && last.device === point.device && last.versions === point.versions) lines.at(-1).push(point);
    else lines.push([point]);
    found.set(point.label, lines);
  }
  return found;
}

/** Where along the axis moments lie. Evenly, in their order: a week without runs would only be a gap. */
export function moments(points) {
  return [...new Set(points.map((point) => point.at))].sort();
}

function draw(place, { points, changes }) {
  const width = place.clientWidth || 600, right = width < 480 ? 16 : RIGHT;
  const times = moments(points), apart = (width - LEFT - right) / Math.max(1, times.length);
  const x = (at) => LEFT + apart * (times.indexOf(at) + 0.5);
  const top = Math.max(1.2, ...points.map((point) => point.high ?? point.speedup)) * 1.04;
  const low = Math.min(0.9, ...points.map((point) => point.low ?? point.speedup)) * 0.97;
  const y = (gain) => HEIGHT - BOTTOM - ((gain - low) / (top - low)) * (HEIGHT - BOTTOM - 24);
  const every = Math.ceil(times.length / Math.max(2, Math.floor(width / 110)));
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "group",
    "aria-label": "Speed-up of each strategy, comparison by comparison, with its interval; in words and as a table below" },
    ...ticks(top, 6).filter((value) => value >= low).map((value) => svg("g", {},
      svg("path", { class: value === 1 ? "one" : "rule", d: `M${LEFT},${y(value)}H${width - right}` }),
      svg("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, `${value}×`))),
    ...times.map((at, i) => (i % every ? null : svg("text", { x: x(at), y: HEIGHT - 6, "text-anchor": "middle" }, at.slice(0, 10)))),
    ...changes.map((change) => svg("g", { class: "change" },
      svg("path", { d: `M${x(change.at) - apart / 2},12V${HEIGHT - BOTTOM}` }, svg("title", {}, `${change.before} → ${change.after}`)),
      svg("text", { x: x(change.at) - apart / 2 + 4, y: change.kind === "device" ? 20 : 34 }, change.kind === "device" ? "hardware" : "versions"))),
    ...lines(points, x, y, width - right));
  picture.style.height = `${HEIGHT}px`;
  place.replaceChildren(picture);
}

function lines(points, x, y, end) {
  const named = [];
  return [...pieces(points).values()].map((parts) => {
    const last = parts.at(-1).at(-1), at = y(last.speedup) + 4;
    const hasRoom = end < x(last.at) + 200 && !named.some((other) => Math.abs(other - at) < 14);
    if (hasRoom) named.push(at);
    return svg("g", { class: `s-${last.strategy}${last.role === "ranked" || last.role === "baseline" ? "" : " unranked"}` },
      ...parts.map((part) => svg("path", { class: "line", d: `M${part.map((point) => `${x(point.at).toFixed(1)},${y(point.speedup).toFixed(1)}`).join("L")}` })),
      ...parts.flat().map((point) => svg("a", { href: point.address, class: `run${point.is_noisy ? " unranked" : ""}`, tabindex: -1 },
        svg("title", {}, `${point.name}: ${point.speedup.toFixed(2)}× on ${point.at.slice(0, 10)}, ${point.device}`),
        point.low === null ? null : svg("path", { class: "interval", d: `M${x(point.at)},${y(point.low)}V${y(point.high)}` }),
        mark(point.strategy, 5, x(point.at), y(point.speedup)))),
      hasRoom && end + 90 < 4000 ? svg("text", { class: "name", x: end + 4, y: at }, last.name) : null);
  });
}

const source = globalThis.document?.getElementById("points");
if (source) {
  const place = document.getElementById("history"), shown = JSON.parse(source.textContent);
  if (moments(shown.points).length > 1) new ResizeObserver(() => draw(place, shown)).observe(place);
  else place.remove(); // one moment is no line, and stands in the table
}
