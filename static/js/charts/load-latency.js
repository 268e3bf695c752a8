// How long users wait, by load: until decoding begins, for the first token, for each token after it, between two
// deliveries, and for the whole answer.

import { sketch } from "../core/become.js";
import { at, isLoaded, kindsOf, loadAxis, loadName, seriesOf, strategiesOf } from "../core/loads.js";
import { key, runKey } from "../core/picture.js";
import { aside, figures, inLooksOf, line, markAt } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { ms } from "../core/words.js";

export const on = { "comparison-load": 3 };
export const term = "first token";
export const element = "div";
export const isWide = true;
export const title = "Waiting times by load";

const WAITS = [
  { name: "queued_ms", title: "In the queue" },
  { name: "ttft_ms", title: "First token, from arrival" },
  { name: "tpot_ms", title: "Per token after the first" },
  { name: "gap_ms", title: "Between two deliveries" },
  { name: "e2e_ms", title: "End to end" },
];

/** Compare the heaviest load's 95th percentiles of the first token. */
export function sentence({ everyRow: rows }) {
  const found = rows.filter(isShown);
  if (!isLoaded(rows) || !found.length) return "";
  const heaviest = found.at(-1), those = found.filter((row) => loadName(row) === loadName(heaviest));
  const said = those.map((row) =>
    `${row.settings} ${withDoubt(row.ttft_ms, "p95")} for the first token and ${withDoubt(row.tpot_ms, "p95")} for each after it`);
  const doubt = those.some((row) => !row.ttft_ms.intervals.p95) ? " There are too few prompts for an interval." : "";
  return `Of 100 requests at ${loadName(heaviest)}, 95 wait no longer than: ${said.join("; ")}.${doubt}`;
}

const PERCENTILES = ["p50", "p95", "p99"];

export const table = ({ everyRow: rows }) => made(["run", "load", ...WAITS.flatMap(({ title: named }) => PERCENTILES.map((p) => `${named}, ${p}`))],
  rows.filter(isShown).map((row) => [row.name, loadName(row),
    ...WAITS.flatMap(({ name }) => PERCENTILES.map((p) => (row[name] ? withDoubt(row[name], p) : "–")))]));

export const legend = ({ everyRow: rows }) => [...strategiesOf(rows.filter(isShown)).map(runKey),
  key("line soft", "line: median; bar above it: up to the 95th percentile, tick: the 99th; in brackets 95 % intervals")];

export function draw(place, { everyRow: rows, report }) {
  const shown = rows.filter(isShown);
  figures(place, kindsOf(shown).flatMap((kind) => WAITS.flatMap(({ name, title: named }) => {
    const here = shown.filter((row) => row[kind] && row[name]), promised = report.objective[name];
    return here.length ? [{
      label: named, caption: [`${named}, ms`], x: loadAxis(here, kind), height: 220,
      y: { low: 0, high: Math.max(...here.map((row) => row[name].p99), promised ?? 0) * 1.05 || 1 },
      levels: promised ? [{ at: promised, cls: "whole soft", label: "objective" }] : [],
      series: seriesOf(here, kind).map((series, n, all) => ({ name: series.name, points: series.rows.map((row) => pointOf(row, kind, name)),
        layer: drawn(series, kind, name, aside(n, all, 4)) })),
    }] : [];
  })));
}

const isShown = (row) => row.sample_count > 0 && row.role !== "bound" && Boolean(row.ttft_ms);
const written = (value) => ms(1e6 * value);
const withDoubt = (times, p) => written(times[p]) + (times.intervals[p] ? ` (${times.intervals[p].map(written).join(" to ")})` : "");

const pointOf = (row, kind, name) => ({ x: at(row[kind]), y: row[name].p50,
  text: PERCENTILES.map((p) => `${p === "p50" ? "" : `${p} `}${withDoubt(row[name], p)}`).join(", ") });

function drawn({ rows, ...of }, kind, name, beside) {
  const points = rows.map((row) => [at(row[kind]), row[name].p50]);
  const waits = ({ x, y }) => rows.map((row) => sketch("path", { class: "wait", d: waited(x(at(row[kind])), y, row[name]) }));
  return inLooksOf(of, [line(points), waits, ...points.map((point) => markAt(of.strategy, point, 4))], { aside: beside });
}

const waited = (x, y, { p50, p95, p99 }) => `M${x},${y(p50)}V${y(p95)}M${x - 4},${y(p99)}h8`;
