// One prompt, round by round: the bound's lookahead beside a fixed one.

import { seriesKey } from "../core/picture.js";
import { level, plot, steps } from "../core/plot.js";
import { table as made } from "../core/tables.js";

export const on = { oracle: 1 };
export const isWide = true;
export const title = ({ found }) => ["One prompt, round by round:", found.one.prompt];

export const sentence = ({ found: { one }, series: [bound, fixed] }) =>
  `In ${one.lookaheads.length} rounds the ${bound.name} looks ${Math.min(...one.lookaheads)} to ${Math.max(...one.lookaheads)} tokens ahead, ` +
  `${fixed.name} always ${one.lookahead}.`;

export const table = ({ found: { one }, series: [bound, fixed] }) => made(["round", `${bound.name}'s lookahead`, fixed.name],
  one.lookaheads.map((value, i) => [i + 1, value, one.lookahead]));

export const legend = ({ series: [bound, fixed] }) => [...[bound, fixed].map(({ strategy, name }) => seriesKey(`line s-${strategy}`, name)),
  " Above the line the fixed draft is cut short; below it, what it drafts is thrown away."];

export const draw = (picture, { found: { one: { lookaheads, lookahead } }, series: [bound, fixed] }) => plot(picture, {
  x: { low: 0, high: lookaheads.length, label: "round", isWhole: true },
  y: { low: 0, high: Math.max(lookahead, ...lookaheads, 1) * 1.1, label: "tokens" },
  series: [{ name: fixed.name, points: [], layer: level(lookahead, `s-${fixed.strategy} whole`) },
    { name: bound.name, points: lookaheads.map((tokens, i) => ({ x: i + 0.5, y: tokens, text: `${tokens} tokens` })),
      layer: steps(lookaheads, `s-${bound.strategy}`) }],
  head: (round) => `round ${Math.floor(round) + 1}`,
});
