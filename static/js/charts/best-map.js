// The best strategy by the draft's price and its acceptance on a machine card, with the pair as a point on the map.

import { sketch } from "../core/become.js";
import { key, mark } from "../core/picture.js";
import { plot } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { times } from "../core/words.js";

export const on = { projection: 1 };
export const term = "acceptance";
export const isWide = true;
export const title = "Which strategy is best where";

export function sentence({ found: { map } }) {
  const { price, acceptance } = map.pair, here = nearest(map);
  return `This pair has an acceptance of ${acceptance.toFixed(2)}, and a draft step costs ${share(price)} of a verification on this card. ` +
    `${isBeyond(map) ? "That is beyond the map. At its edge" : "Near there"} ${here.best} is best: ${times(here.speedups[here.best])}.`;
}

/** Whether the pair's price is so far from those of the map that its nearest field says nothing of the pair. */
const isBeyond = ({ fields, pair }) => {
  const prices = values(fields, "price");
  return pair.price > 2 * prices.at(-1) || pair.price < prices[0] / 2;
};

export const table = ({ found: { map } }) => made(["draft price", "acceptance", "best", "speed-up", "best setting"],
  map.fields.map((each) => [share(each.price), each.acceptance.toFixed(2), each.best, times(each.speedups[each.best]), each.label]));

export const legend = ({ found: { map } }) => [
  ...[...new Set(map.fields.map((each) => each.best))].map((strategy) => key(`line s-${strategy}`, strategy)),
  " Simulated from this pair's texts, their acceptance changed. The ring is the pair itself."];

export function draw(picture, { found: { map } }) {
  const prices = values(map.fields, "price"), acceptances = values(map.fields, "acceptance");
  plot(picture, {
    x: { low: 0, high: prices.length, label: "draft step, share of a verification", at: prices.map((_, i) => i + 0.5),
      format: (value) => share(prices[Math.floor(value)]) },
    y: { low: 0, high: acceptances.length, label: "acceptance", at: acceptances.map((_, i) => i + 0.5),
      format: (value) => acceptances[Math.floor(value)].toFixed(2) },
    height: 340,
    layers: [
      ...map.fields.map((each) => field(each, prices.indexOf(each.price), acceptances.indexOf(each.acceptance))),
      ({ x, y }) => [sketch("circle", { class: "pair-ring", r: 12, cx: x(between(prices, map.pair.price)), cy: y(between(acceptances, map.pair.acceptance)) },
        sketch("title", {}, `this pair: price ${share(map.pair.price)}, acceptance ${map.pair.acceptance.toFixed(2)}`))],
    ],
  });
}

/** A field with the mark of its best strategy, so that colour is not the only difference. */
const field = (each, column, row) => ({ x, y }) => [sketch("g", { class: `s-${each.best}` },
  sketch("rect", { class: "map-field", x: x(column), y: y(row + 1), width: x(column + 1) - x(column), height: y(row) - y(row + 1) },
    sketch("title", {}, `price ${share(each.price)}, acceptance ${each.acceptance.toFixed(2)}: ${each.label}, ${times(each.speedups[each.best])}`)),
  mark(each.best, 6, x(column + 0.5), y(row + 0.5)))];

const values = (fields, name) => [...new Set(fields.map((each) => each[name]))].sort((a, b) => a - b);
const share = (value) => `${Number((100 * value).toPrecision(2))} %`;

/** Where a value stands among the middles of the fields; outside of them, at the nearest. */
function between(middles, value) {
  const after = middles.findIndex((middle) => middle >= value);
  if (after === 0) return 0.5;
  if (after < 0) return middles.length - 0.5;
  const [low, high] = [middles[after - 1], middles[after]];
  return after - 0.5 + (value - low) / (high - low);
}

export function nearest({ fields, pair }) {
  const prices = values(fields, "price"), acceptances = values(fields, "acceptance");
  const column = Math.round(between(prices, pair.price) - 0.5), row = Math.round(between(acceptances, pair.acceptance) - 0.5);
  return fields.find((each) => each.price === prices[column] && each.acceptance === acceptances[row]);
}
