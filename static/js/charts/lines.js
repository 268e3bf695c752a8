// Tokens over time, a line per strategy: the steeper, the faster.

import { runKey } from "../core/picture.js";
import { inLooksOf, line, markAt, plot } from "../core/plot.js";
import { ticks } from "../core/stats.js";
import { table as made } from "../core/tables.js";
import { brief, grouped } from "../core/words.js";
import { roomOf } from "../live/room.js";
import { decodeNs, partsOf, progress } from "../live/sample-state.js";

export const on = { text: 4 };
export const title = "Tokens over time";
export const everyMs = 200; // five times a second is enough of the longest lines on the page

/** Tell of each text how long it is and how long it took, the fastest first. */
export function sentence({ runs, whole }) {
  const told = begun(runs, whole).map(({ run, state }) => ({ name: run.name, tokens: state.tokens.length, ns: decodeNs(state) }))
    .sort((a, b) => b.tokens / b.ns - a.tokens / a.ns);
  return told.length ? `A steeper line is faster: ${told.map((one) => `${one.name} ${one.tokens} tokens in ${brief(one.ns)}`).join("; ")}.` : "";
}

const MOMENTS = 10;

export function table({ runs, found }) {
  const known = begun(runs, found), lines = known.map(({ state }) => progress(state));
  const longest = Math.max(0, ...lines.map((points) => points.at(-1)[0]));
  const step = ticks(longest, MOMENTS)[1] ?? longest;
  const moments = Array.from({ length: Math.ceil(longest / step) + 1 }, (_, i) => Math.min(i * step, longest));
  return made(["milliseconds", ...known.map(({ run }) => run.name)],
    moments.map((ms) => [grouped(Math.round(ms)), ...lines.map((points) => tokensAt(points, ms))]));
}

/** How many tokens there were at a moment. */
export const tokensAt = (points, ms) => points.findLast((point) => point[0] <= ms)?.[1] ?? 0;

export const legend = ({ runs }) => runs.map(runKey);

/** A line ends where the picture does, or at its strategy's mark. */
export function draw(picture, { runs, found, run: chosen }) {
  const known = begun(runs, found);
  const room = roomOf(known.map(({ run, state }) => ({ ns: decodeNs(state), isOver: state.reason !== null, mayLeave: run.mayLeave })));
  const until = Math.max(1, room.ns / 1e6);
  plot(picture, {
    x: { low: 0, high: until, link: "ms", format: (value) => (value ? grouped(value) : "0 ms") },
    y: { low: 0, high: Math.max(1, ...known.map(({ state }) => state.tokens.length)), isWhole: true },
    height: 220, head: (ms) => (ms < 100 ? `${ms.toFixed(2)} ms` : brief(1e6 * ms)),
    series: known.map(({ run, state }) => seriesOf(run, progress(state), until, run === chosen)),
  });
}

function seriesOf(run, points, until, isChosen) {
  const end = points.at(-1), shown = points.filter(([ms]) => ms <= until), marks = end[0] <= until ? [markAt(run.strategy, end, 4)] : [];
  return { name: run.name, points: shown, layer: inLooksOf(run, [line(shown), ...marks], { cls: isChosen ? "chosen" : "" }) };
}

const begun = (runs, states) => runs.map((run) => ({ run, state: states.get(run.number) })).filter(({ state }) => state && partsOf(state).length);
