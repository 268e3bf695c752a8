// Every chart's numbers as a table: for those who cannot see the chart, and for those who want to copy them.

import { become, sketch } from "../core/become.js";
import { html, mark } from "../core/svg.js";
import { median, ticks } from "../core/stats.js";
import { progress } from "./trace.js";

/** Of the evidence. Tables are made for those who open them. */
export function twins({ rows, paired, speculative, prompts }) {
  const others = rows.filter((row) => !row.isBaseline);
  if (isOpen("forest")) put("forest", forestTable(others, paired));
  if (isOpen("waterfall")) put("waterfall", speculative?.losses ? lossTable(speculative.losses) : null);
  if (isOpen("histogram")) put("histogram", speculative ? histogramTable(speculative.acceptance_histogram) : null);
  if (isOpen("positions")) put("positions", positionTable(rows.filter((row) => row.role !== "baseline")));
  const categories = categoryTable(others, paired, prompts);
  document.getElementById("categories").hidden = !categories;
  put("categories", categories);
}

export const isOpen = (name) => document.querySelector(`[data-twin="${name}"]`).open;

export const roundByRound = (state, oracle) => put("rounds",
  table(["round", "asked for", "drafted", "kept", "oracle", "drafting", "verifying", "waiting"], state.rounds.map((round) => [
    round.number, round.lookahead, round.drafted.length, round.accepted,
    `${oracle(round).isLeast ? "≥ " : ""}${oracle(round).lookahead}`,
    ...[round.draftEnd - round.draftStart, round.verifyEnd - round.verifyStart, round.wait].map((ns) => `${(ns / 1e6).toFixed(2)} ms`),
  ])));

const MOMENTS = 10;

export function overTime(runs, states) {
  const known = runs.filter((run) => states.get(run.number)?.rounds.length);
  const lines = known.map((run) => progress(states.get(run.number)));
  const longest = Math.max(0, ...lines.map((line) => line.at(-1)[0]));
  const step = ticks(longest, MOMENTS)[1] ?? longest;
  const moments = Array.from({ length: Math.ceil(longest / step) + 1 }, (_, i) => Math.min(i * step, longest));
  put("lines", table(["milliseconds", ...known.map((run) => run.name)],
    moments.map((ms) => [ms.toFixed(0), ...lines.map((line) => tokensAt(line, ms))])));
}

/** Of points in time and tokens, how many there were at a moment. */
export const tokensAt = (line, ms) => line.findLast((point) => point[0] <= ms)?.[1] ?? 0;

export function put(name, made) {
  const place = document.querySelector(`[data-twin="${name}"]`);
  if (!made) return place.querySelector("table")?.remove();
  become(place.querySelector("table") ?? place.appendChild(html("table")), ...made);
}

function forestTable(rows, paired) {
  const prompts = [...new Set([...paired.values()].flat().map((point) => point.prompt))].sort((a, b) => a - b);
  return table(["prompt", ...rows.map((row) => row.name)],
    prompts.map((prompt) => [prompt, ...rows.map((row) => times(paired.get(row.number)?.find((point) => point.prompt === prompt)?.ratio))]));
}

function categoryTable(rows, paired, prompts) {
  const categoryOf = (point) => prompts.get(point.prompt)?.category || "";
  const categories = [...new Set([...prompts.values()].map((prompt) => prompt.category))].filter(Boolean).sort();
  if (categories.length < 2) return null;
  const within = (row, category) => (paired.get(row.number) ?? []).filter((point) => categoryOf(point) === category);
  const heads = categories.map((category) => `${category} (${Math.max(0, ...rows.map((row) => within(row, category).length))})`);
  return table(["strategy", ...heads], rows.map((row) => [[badge(row.strategy), row.name], ...categories.map((category) => {
    const points = within(row, category);
    return times(points.length ? median(points.map((point) => point.ratio)) : undefined);
  })]));
}

const badge = (strategy) => sketch("svg", { class: `mark s-${strategy}`, viewBox: "0 0 14 14", "aria-hidden": "true" }, mark(strategy, 7, 7, 7, sketch));

const lossTable = (losses) => table(["step", "speed-up after it"],
  [["tokens per pass", times(losses.ideal)], ...losses.steps.map((step) => [step.name, times(step.to)])]);

const histogramTable = (counts) => table(["accepted", "rounds"], counts.map((count, i) => [i, count]));

function positionTable(rows) {
  const longest = Math.max(0, ...rows.map((row) => row.places.length));
  return table(["position", ...rows.map((row) => row.name)], Array.from({ length: longest }, (_, i) =>
    [i + 1, ...rows.map((row) => (i < row.places.length ? `${Math.round(100 * row.places[i])} %` : "–"))]));
}

export const times = (ratio) => (ratio === undefined ? "–" : `${ratio.toFixed(2)}×`);

/** What a line begins with may be several things. */
export function table(heads, lines) {
  return [
    sketch("thead", {}, sketch("tr", {}, ...heads.map((head, i) => sketch("th", { scope: "col", class: i ? "num" : null }, head)))),
    sketch("tbody", {}, ...lines.map(([first, ...rest]) =>
      sketch("tr", {}, sketch("th", { scope: "row" }, ...[first].flat().map((part) => part.name ? part : String(part))), ...rest.map((cell) => sketch("td", { class: "num" }, String(cell)))))),
  ];
}
