// Does a classifier mean what it says? What it says, against what was accepted.

import { diagonal, dots, line, plot, shareAxis } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { percent } from "../core/words.js";

export const on = { classifier: 1 };
export const term = "calibration error";
export const title = "Estimate and truth";

export const sentence = ({ page: { card: { metrics } } }) =>
  (metrics?.reliability ? `The calibration error is ${metrics.calibration_error.toFixed(3)}: the mean distance between estimates and the share accepted.` : "");

export const table = ({ page: { card } }) => made(["it says", "accepted", "tokens"],
  card.metrics.reliability.map(([said, was, count]) => [percent(said), percent(was), count]));

export const legend = () => ["Each dot covers 10 % of the scale; a larger dot holds more tokens. On the diagonal, estimates are true."];

export function draw(picture, { page: { card, strategy } }) {
  const bins = card.metrics.reliability, most = Math.max(...bins.map((bin) => bin[2])), cls = `s-${strategy}`;
  const points = bins.map(([said, was, count]) => ({ x: said, y: was, count, r: 2 + 7 * Math.sqrt(count / most) }));
  plot(picture, {
    x: shareAxis("estimate"), y: shareAxis("accepted"), height: 300,
    layers: [diagonal, line(points.map((point) => [point.x, point.y]), cls)], isCloud: true,
    series: [{ name: "", layer: dots(points, cls), points: points.map((point) =>
      ({ ...point, text: `says ${percent(point.x)}, ${percent(point.y)} of ${point.count} accepted` })) }],
  });
}
