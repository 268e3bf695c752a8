// What the verdict rests on: speed-ups prompt by prompt, acceptance, and where the time went.

import { mark, set, svg } from "./svg.js";
import { say } from "./race.js";
import { ticks } from "./stats.js";

const ROW = 40, AXIS = 24, LEFT = 48;
const VALUE = 48; // room for a number behind a bar
const LETTER = 7, TITLE = 16; // about as wide as a letter, as high as an axis's title

/** Room for the longest of these names, but never more than two fifths of the picture. */
const roomFor = (names, width) => Math.min(0.4 * width, 16 + LETTER * Math.max(0, ...names.map((name) => name.length)));

function size(picture, width, height) {
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.style.height = `${height}px`;
}

/** Every prompt a dot, the median the strategy's mark, its interval a bar; the line at 1 is the baseline. */
export function forest(picture, strategies, paired) {
  const rows = strategies.filter((row) => !row.isBaseline);
  const width = picture.clientWidth || 600, label = roomFor(rows.map((row) => row.name), width);
  const all = rows.flatMap((row) => [...(paired.get(row.number) ?? []).map((point) => point.ratio), row.speedup?.high ?? 1]);
  const most = Math.max(1.25, ...all) * 1.03;
  const least = Math.floor(Math.min(0.9, ...all) * 9.7) / 10;
  const x = (ratio) => label + ((ratio - least) / (most - least)) * (width - label - 16);
  const height = rows.length * ROW + AXIS;
  size(picture, width, height);
  if (!picture.firstChild) picture.append(svg("g"), svg("g"), svg("g"));
  const [ground, points, words] = picture.children; // points stay and are moved: there may be hundreds, and one or two are new
  ground.replaceChildren(
    ...ticks(most, Math.max(3, Math.round(width / 120))).filter((value) => value >= least).map((value) =>
      svg("g", {}, svg("path", { class: value === 1 ? "one" : "rule", d: `M${x(value)},0V${height - AXIS}` }),
        svg("text", { x: x(value), y: height - 6, "text-anchor": "middle" }, `${value}×`))),
    svg("path", { class: "one", d: `M${x(1)},0V${height - AXIS}` }),
  );
  rows.forEach((row, i) => dots(points.children[i] ?? points.appendChild(svg("g")), row, paired.get(row.number) ?? [], x, i * ROW + ROW / 2));
  words.replaceChildren(...rows.map((row, i) => forestRow(row, x, i * ROW + ROW / 2)));
}

function forestRow(row, x, y) {
  const gain = row.speedup;
  return svg("g", { class: `s-${row.strategy}${row.role === "ranked" ? "" : " unranked"}` },
    svg("text", { class: "name", x: 0, y: y + 4 }, row.name),
    gain?.low != null ? svg("path", { class: "interval", d: `M${x(gain.low)},${y}H${x(gain.high)}` }) : null,
    gain ? mark(row.strategy, 7, x(gain.median), y) : null);
}

function dots(group, row, points, x, y) {
  set(group, { class: `s-${row.strategy}` });
  while (group.children.length > points.length) group.lastChild.remove();
  points.forEach(({ prompt, ratio }, i) => {
    const dot = group.children[i] ?? group.appendChild(svg("circle", { class: "prompt", r: 2.5 }, svg("title")));
    set(dot, { cx: x(ratio), cy: y + jitter(prompt) * 10 });
    say(dot.firstChild, `prompt ${prompt}: ${ratio.toFixed(2)}×`);
  });
}

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
  picture.replaceChildren(
    ...[0, 0.5, 1].flatMap((share) => [svg("path", { class: "rule", d: `M${left},${y(share)}H${width}` }),
      svg("text", { x: left - 8, y: y(share) + 4, "text-anchor": "end" }, `${share * 100} %`)]),
    ...Array.from({ length: longest }, (_, i) => i).filter((i) => longest < 12 || i % 4 === 0)
      .map((i) => svg("text", { x: x(i), y: base + 18, "text-anchor": "middle" }, String(i + 1))),
    title("position in the draft", left, width, height),
    ...rows.map((row) => line(row, x, y)),
  );
}

function line(row, x, y) {
  const points = row.places.map((share, i) => [x(i), y(share)]);
  return svg("g", { class: `s-${row.strategy}` },
    svg("title", {}, row.name),
    svg("path", { class: "line", d: `M${points.map((p) => p.map((v) => v.toFixed(1)).join(",")).join("L")}` }),
    ...points.map(([px, py]) => mark(row.strategy, 4, px, py)));
}

const title = (text, left, width, height) => svg("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, text);

/** How often a verification accepted so many drafted tokens. */
export function histogram(picture, row) {
  const counts = row?.acceptance_histogram ?? [];
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (!total) return picture.replaceChildren();
  const width = picture.clientWidth || 480, height = 216, left = LEFT, base = height - AXIS - TITLE;
  const most = Math.max(...counts) / total;
  const step = (width - left) / Math.max(5, counts.length), every = Math.ceil(24 / step);
  const y = (share) => base - (share / most) * (base - 12);
  size(picture, width, height);
  picture.replaceChildren(
    ...ticks(100 * most, 4).flatMap((percent) => [svg("path", { class: "rule", d: `M${left},${y(percent / 100)}H${width}` }),
      svg("text", { x: left - 8, y: y(percent / 100) + 4, "text-anchor": "end" }, `${percent} %`)]),
    ...counts.map((count, i) => svg("g", { class: `s-${row.strategy}` },
      svg("title", {}, `${i} accepted: ${count} of ${total} rounds`),
      svg("rect", { class: "bar", x: left + i * step + step / 12, width: step * (10 / 12), y: y(count / total), height: base - y(count / total) }),
      i % every ? null : svg("text", { x: left + (i + 0.5) * step, y: base + 18, "text-anchor": "middle" }, String(i)))),
    title("drafted tokens accepted in a round", left, width, height),
  );
}

/** From the speed-up that acceptance alone would give down to the measured one. */
export function waterfall(picture, row) {
  const found = row?.losses;
  if (!found) return picture.replaceChildren();
  const bars = [
    { name: "ideal", from: 0, to: found.ideal, kind: "whole" },
    ...found.steps.map((step) => ({ ...step, kind: `${step.to > step.from ? "gain" : "loss"}${step.name === found.largest ? " largest" : ""}` })),
    { name: "measured", from: 0, to: found.measured, kind: "whole end" },
  ];
  const width = picture.clientWidth || 480, label = roomFor(bars.map((bar) => LABELS[bar.name]), width), height = bars.length * 36 + 24;
  const most = Math.max(found.ideal, found.measured, 1.2, ...found.steps.map((step) => Math.max(step.from, step.to)));
  const x = (value) => label + (Math.max(0, value) / most) * (width - label - VALUE);
  size(picture, width, height);
  picture.replaceChildren(
    svg("path", { class: "one", d: `M${x(1)},0V${height - 20}` }),
    svg("text", { x: x(1), y: height - 4, "text-anchor": "middle" }, "1× autoregressive"),
    ...bars.map((bar, i) => fall(bar, bars[i + 1], x, i * 36 + 8, row.strategy)),
  );
}

function fall(bar, next, x, y, strategy) {
  const low = Math.min(bar.from, bar.to), high = Math.max(bar.from, bar.to);
  const change = bar.to - bar.from;
  const words = bar.kind.startsWith("whole") ? `${bar.to.toFixed(2)}×` : `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(2)}`;
  return svg("g", { class: `${bar.kind} s-${strategy}` },
    svg("text", { class: "name", x: 0, y: y + 16 }, LABELS[bar.name]),
    svg("rect", { class: "bar", x: x(low), y, width: Math.max(1, x(high) - x(low)), height: 22 }),
    svg("text", { x: x(high) + 6, y: y + 16 }, words),
    next ? svg("path", { class: "joint", d: `M${x(bar.to)},${y + 22}v14` }) : null);
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
