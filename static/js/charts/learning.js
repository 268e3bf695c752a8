// What a classifier that learnt from fewer prompts would be worth: where more training data stops paying.

import { dots, interval, line, plot, speedupAxis } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { times } from "../core/words.js";

export const on = { classifier: 6 };
export const term = "learning curve";
export const title = "Learning curve";

const pointsOf = ({ page }) => page.card.learning?.points ?? [];

export const sentence = ({ page }) => page.learning;

export const table = (data) => made(["training prompts", "AUC", "speed-up", "at least", "at most"], pointsOf(data).map((point) =>
  [point.prompts, point.auc.toFixed(3), ...[point.speedup, point.low ?? undefined, point.high ?? undefined].map(times)]));

export const legend = () => ["Predicted speed-up over autoregressive on test prompts, by number of training prompts. " +
  "Bars are 95 % intervals over the test prompts."];

export function draw(picture, data) {
  const points = pointsOf(data), at = (point) => Math.log2(point.prompts), style = `s-${data.page.strategy}`;
  plot(picture, {
    x: {
      low: at(points[0]) - 0.3, high: at(points.at(-1)) + 0.3, at: points.map(at), label: "training prompts",
      format: (value) => `${Math.round(2 ** value)}`,
    },
    y: speedupAxis(points.flatMap((point) => [point.low ?? point.speedup, point.high ?? point.speedup])),
    layers: [
      line(points.map((point) => [at(point), point.speedup]), style),
      ...points.map((point) => interval(at(point), point)),
      dots(points.map((point) => ({ x: at(point), y: point.speedup, ...point })), style),
    ],
  });
}
