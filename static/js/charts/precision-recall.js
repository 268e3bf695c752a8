// A classifier's precision against its recall.

import { level, line, plot, shareAxis } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { percent } from "../core/words.js";

export const on = { classifier: 3 };
export const term = "precision";
export const title = "Precision and recall";

export const sentence = ({ page: { card: { metrics } } }) => (metrics?.pr
  ? `At a threshold of 0.5 the target accepts ${percent(metrics.precision)} of the tokens that pass, and ` +
    `${percent(metrics.recall)} of all accepted tokens pass.` : "");

const sorted = ({ page }) => [...page.card.metrics.pr].sort((a, b) => a[0] - b[0] || a[1] - b[1]);

export const table = (data) => made(["recall", "precision"], sorted(data).map(([x, y]) => [x.toFixed(3), y.toFixed(3)]));

export const legend = ({ page }) => ["Precision: of the tokens that the classifier lets pass, the share that the target accepts. Recall: of the tokens that the target accepts, the share that passes. " +
  `Dotted: the share accepted overall, ${percent(page.card.metrics.positives ?? 0)}.`];

export const draw = (picture, data) => plot(picture, {
  x: shareAxis("recall"), y: shareAxis("precision"), height: 300,
  layers: [level(data.page.card.metrics.positives ?? 0)],
  series: [{ name: "precision", points: sorted(data), layer: line(sorted(data), `s-${data.page.strategy}`) }],
});
