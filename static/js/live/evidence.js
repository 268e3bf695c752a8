// What the verdict rests on: speed-ups prompt by prompt, acceptance, and where the time went.

import { become, sketch } from "../core/become.js";
import { mark, set } from "../core/svg.js";
import { say } from "./race.js";
import { reach, ticks } from "../core/stats.js";

const ROW = 40, AXIS = 24, LEFT = 48;
const VALUE = 48; // room for a number behind a bar
const LETTER = 7, TITLE = 16; // about as wide as a letter, as high as an axis's title

/** Room for the longest of these names, but never more than two fifths of the picture. */
const roomFor = (names, width) => Math.min(0.4 * width, 16 + LETTER * Math.max(0, ...names.map((name) => name.length)));

function size(picture, width, height) {
  set(picture, { viewBox: `0 0 ${width} ${height}` });
  picture.style.height = `${height}px`;
}

/** Every prompt a dot, the median the strategy's mark, its interval a bar; the line at 1 is the baseline. Prompts that lie
 * far beyond all others stand at the edge, before an arrow. */
export function forest(picture, strategies, paired) {
  const rows = strategies.filter((row) => !row.isBaseline);
  const width = picture.clientWidth || 600, label = roomFor(rows.map((row) => row.name), width);
  const all = rows.flatMap((row) => [...(paired.get(row.number) ?? []).map((point) => point.ratio), row.speedup?.high ?? 1]);
  const most = Math.max(1.25, reach(all), ...rows.map((row) => row.speedup?.high ?? row.speedup?.median ?? 1)) * 1.03;
  const least = Math.floor(Math.min(0.9, ...all) * 9.7) / 10;
  const x = (ratio) => label + ((ratio - least) / (most - least)) * (width - label - 16);
  const height = rows.length * ROW + AXIS;
  size(picture, width, height);
  const middle = (i) => i * ROW + ROW / 2;
  const points = rows.map((row, i) => (paired.get(row.number) ?? []).map(({ prompt, ratio }) =>
    ({ prompt, ratio, x: x(Math.min(ratio, most)), y: middle(i) + jitter(prompt) * 10 })));
  const marks = new Set([1, ...ticks(most, Math.max(3, Math.round(width / 120))).filter((value) => value >= least)]);
  picture.parentElement.querySelector("[data-beyond]").hidden = Math.max(...all) <= most;
  become(picture,
    sketch("title"),
    sketch("g", {}, ...[...marks].map((value) =>
      sketch("g", {}, sketch("path", { class: value === 1 ? "one" : "rule", d: `M${x(value)},0V${height - AXIS}` }),
        sketch("text", { x: x(value), y: height - 6, "text-anchor": "middle" }, `${value}×`)))),
    sketch("path", { class: "one", d: `M${x(1)},0V${height - AXIS}` }),
    sketch("g", {}, ...rows.map((row, i) => dots(row, points[i]))),
    sketch("g", {}, ...rows.map((row, i) => forestRow(row, x, middle(i)))),
    sketch("g", {}, ...rows.map((row, i) => sketch("path", { class: `beyond s-${row.strategy}`,
      d: points[i].some(({ ratio }) => ratio > most) ? `M${x(most) + 6},${middle(i) - 5}l5,5l-5,5` : null }))),
  );
  tell(picture, points.flat());
}

function forestRow(row, x, y) {
  const gain = row.speedup;
  return sketch("g", { class: `s-${row.strategy}${row.role === "ranked" ? "" : " unranked"}` },
    sketch("text", { class: "name", x: 0, y: y + 4 }, row.name),
    gain?.low != null ? sketch("path", { class: "interval", d: `M${x(gain.low)},${y}H${x(gain.high)}` }) : null,
    gain ? mark(row.strategy, 7, x(gain.median), y, sketch) : null);
}

/** One shape for all dots of a strategy, a mark at each of its corners: in an hour there may be thousands. */
function dots(row, points) {
  const mark = `dot-${row.number}`, places = points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`);
  return sketch("g", { class: `s-${row.strategy}` },
    sketch("marker", { id: mark, refX: 3, refY: 3, markerWidth: 6, markerHeight: 6, markerUnits: "userSpaceOnUse" },
      sketch("circle", { class: "prompt", cx: 3, cy: 3, r: 2.5 })),
    sketch("path", { class: "prompts", d: places.length ? `M${places.join("L")}` : null,
      "marker-start": `url(#${mark})`, "marker-mid": `url(#${mark})`, "marker-end": places.length > 1 ? `url(#${mark})` : null }));
}

/** Under the pointer, which prompt a dot is. */
function tell(picture, points) {
  if (!told.has(picture)) {
    picture.addEventListener("pointermove", ({ clientX, clientY }) => {
      const { left, top } = picture.getBoundingClientRect();
      const away = ({ x, y }) => Math.hypot(left + x - clientX, top + y - clientY);
      const [nearest] = told.get(picture).filter((point) => away(point) < NEAR).sort((a, b) => away(a) - away(b));
      say(picture.querySelector("title"), nearest ? `prompt ${nearest.prompt}: ${nearest.ratio.toFixed(2)}×` : "");
    });
  }
  told.set(picture, points);
}

const NEAR = 5;
const told = new WeakMap(); // picture → the dots in it

/** Dots of close prompts side by side, always in the same place. */
const jitter = (prompt) => ((prompt * 0.618034) % 1) * 2 - 1;

/** Of the drafts that reached a position, the share accepted there: one line per strategy. */
export function positions(picture, strategies) {
  const rows = strategies.filter((row) => row.places.length);
  const width = picture.clientWidth || 480, height = 216, left = LEFT, base = height - AXIS - TITLE;
  const longest = Math.max(4, ...rows.map((row) => row.places.length));
  const x = (i) => left + ((i + 0.5) / longest) * (width - left - 8);
  const y = (share) => base - share * (base - 12);
  size(picture, width, height);
  become(picture,
    levels([0, 50, 100], left, width, (percent) => y(percent / 100)),
    sketch("g", {}, ...Array.from({ length: longest }, (_, i) => i).filter((i) => longest < 12 || i % 4 === 0)
      .map((i) => sketch("text", { x: x(i), y: base + 18, "text-anchor": "middle" }, String(i + 1)))),
    title("position in the draft", left, width, height),
    ...rows.map((row) => line(row, x, y)),
  );
}

function line(row, x, y) {
  const points = row.places.map((share, i) => [x(i), y(share)]);
  return sketch("g", { class: `s-${row.strategy} ${row.dash}` },
    sketch("title", {}, row.name),
    sketch("path", { class: "line", d: `M${points.map((p) => p.map((v) => v.toFixed(1)).join(",")).join("L")}` }),
    ...points.map(([px, py]) => mark(row.strategy, 4, px, py, sketch)));
}

const levels = (percents, left, width, y) => sketch("g", {}, ...percents.flatMap((percent) => [
  sketch("path", { class: "rule", d: `M${left},${y(percent)}H${width}` }),
  sketch("text", { x: left - 8, y: y(percent) + 4, "text-anchor": "end" }, `${percent} %`),
]));

const title = (text, left, width, height) => sketch("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, text);

/** How often a verification accepted so many drafted tokens. */
export function histogram(picture, row) {
  const counts = row?.acceptance_histogram ?? [];
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (!total) return become(picture);
  const width = picture.clientWidth || 480, height = 216, left = LEFT, base = height - AXIS - TITLE;
  const most = Math.max(...counts) / total;
  const step = (width - left) / Math.max(5, counts.length), every = Math.ceil(24 / step);
  const y = (share) => base - (share / most) * (base - 12);
  size(picture, width, height);
  become(picture,
    levels(ticks(100 * most, 4), left, width, (percent) => y(percent / 100)),
    ...counts.map((count, i) => sketch("g", { class: `s-${row.strategy}` },
      sketch("title", {}, `${i} accepted: ${count} of ${total} rounds`),
      sketch("rect", { class: "bar", x: left + i * step + step / 12, width: step * (10 / 12), y: y(count / total), height: base - y(count / total) }),
      i % every ? null : sketch("text", { x: left + (i + 0.5) * step, y: base + 18, "text-anchor": "middle" }, String(i)))),
    title("drafted tokens accepted in a round", left, width, height),
  );
}

/** From the speed-up that acceptance alone would give down to the measured one. */
export function waterfall(picture, row) {
  const found = row?.losses;
  if (!found) return become(picture);
  const bars = [
    { name: "ideal", from: 0, to: found.ideal, kind: "whole" },
    ...found.steps.map((step) => ({ ...step, kind: `${step.to > step.from ? "gain" : "loss"}${step.name === found.largest ? " largest" : ""}` })),
    { name: "measured", from: 0, to: found.measured, kind: "whole end" },
  ];
  const width = picture.clientWidth || 480, label = roomFor(bars.map((bar) => LABELS[bar.name]), width), height = bars.length * 36 + 24;
  const most = Math.max(found.ideal, found.measured, 1.2, ...found.steps.map((step) => Math.max(step.from, step.to)));
  const x = (value) => label + (Math.max(0, value) / most) * (width - label - VALUE);
  size(picture, width, height);
  become(picture,
    sketch("path", { class: "one", d: `M${x(1)},0V${height - 20}` }),
    sketch("text", { x: x(1), y: height - 4, "text-anchor": "middle" }, "1× autoregressive"),
    ...bars.map((bar, i) => fall(bar, bars[i + 1], x, i * 36 + 8, row.strategy)),
  );
}

function fall(bar, next, x, y, strategy) {
  const low = Math.min(bar.from, bar.to), high = Math.max(bar.from, bar.to);
  const change = bar.to - bar.from;
  const words = bar.kind.startsWith("whole") ? `${bar.to.toFixed(2)}×` : `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(2)}`;
  return sketch("g", { class: `${bar.kind} s-${strategy}` },
    sketch("text", { class: "name", x: 0, y: y + 16 }, LABELS[bar.name]),
    sketch("rect", { class: "bar", x: x(low), y, width: Math.max(1, x(high) - x(low)), height: 22 }),
    sketch("text", { x: x(high) + 6, y: y + 16 }, words),
    next ? sketch("path", { class: "joint", d: `M${x(bar.to)},${y + 22}v14` }) : null);
}

const LABELS = {
  ideal: "tokens per pass", drafting: "drafting", verifying: "wider passes", waiting: "waiting", "the rest": "each round", measured: "measured",
};

/** The largest loss by name, and what to try. */
export function advice({ largest, steps, advice: words }) {
  const step = steps.find(({ name }) => name === largest);
  if (step) return `The largest loss: ${LABELS[largest]} takes ${(step.from - step.to).toFixed(2)} off the speed-up. ${words}`;
  return words || "No single loss stands out.";
}
