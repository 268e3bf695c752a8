// The pictures of an oracle study: one prompt round by round, progress through the text, and how often each lookahead.

import { plot } from "../core/plot.js";
import { html, svg } from "../core/svg.js";
import { percent, twin } from "../core/tables.js";

const found = JSON.parse(document.getElementById("found").textContent);
const sets = JSON.parse(document.getElementById("sets").textContent);

one();
progress();
histograms();

function one() {
  const { lookaheads, lookahead } = found.one;
  const high = Math.max(lookahead, ...lookaheads, 1) * 1.1;
  plot(document.getElementById("one"), () => ({
    x: { low: 0, high: lookaheads.length, label: "round", isWhole: true },
    y: { low: 0, high, label: "tokens" },
    layers: [
      { kind: "level", at: lookahead, cls: "s-static whole", label: `static:${lookahead}` },
      { kind: "steps", values: lookaheads, cls: "s-oracle" },
    ],
  }));
  twin("one", ["round", "oracle's lookahead", "static"], lookaheads.map((value, i) => [i + 1, value, lookahead]));
}

function progress() {
  const bins = found.by_progress.length;
  const high = Math.max(...sets.flatMap((set) => set.by_progress.filter((value) => value !== null)), found.mean, 1) * 1.1;
  plot(document.getElementById("progress"), () => ({
    x: { low: 0, high: bins, label: "progress through the text", at: [0, bins / 4, bins / 2, (3 * bins) / 4, bins], format: (value) => percent(value / bins) },
    y: { low: 0, high, label: "tokens" },
    layers: [
      ...sets.slice(1).map((set) => ({ kind: "steps", values: set.by_progress, cls: "other" })),
      { kind: "level", at: found.mean, cls: "" },
      { kind: "steps", values: found.by_progress, cls: "s-oracle" },
    ],
  }));
  twin("progress", ["progress", ...sets.map((set) => set.name)],
    found.by_progress.map((_, i) => [percent(i / bins), ...sets.map((set) => set.by_progress[i]?.toFixed(2))]));
}

/** One small picture for each prompt set, on the same scales, so that they can be compared. */
function histograms() {
  const longest = Math.max(4, ...sets.map((set) => set.histogram.length));
  const shares = sets.map((set) => {
    const rounds = set.histogram.reduce((sum, count) => sum + count, 0);
    return Array.from({ length: longest }, (_, i) => (set.histogram[i] ?? 0) / rounds);
  });
  const most = Math.max(...shares.flat()) * 1.1;
  const place = document.getElementById("histograms");
  sets.forEach((set, index) => {
    const picture = svg("svg", { class: "chart", role: "img", "aria-label": `${set.name}: mean ${set.mean.toFixed(2)} tokens` });
    place.append(html("figure", {}, html("figcaption", {}, `${set.name} `, html("span", { class: "quiet" }, `mean ${set.mean.toFixed(2)}, ${set.samples} prompts`)), picture));
    plot(picture, () => ({
      x: { low: -0.5, high: longest - 0.5, label: "oracle's lookahead, tokens" },
      y: { low: 0, high: most, label: "", format: percent },
      height: 180,
      layers: [
        { kind: "bars", values: shares[index], cls: "s-oracle", title: (share, i) => `${i} tokens: ${percent(share)} of the rounds` },
        { kind: "upright", at: set.mean, cls: "" },
      ],
    }));
  });
  twin("histograms", ["lookahead", ...sets.map((set) => set.name)],
    Array.from({ length: longest }, (_, i) => [i, ...sets.map((set) => set.histogram[i] ?? 0)]));
}
