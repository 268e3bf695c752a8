// A classifier's ROC curve.

import { diagonal, line, plot, shareAxis } from "../core/plot.js";
import { table as made } from "../core/tables.js";

export const on = { classifier: 2 };
export const term = "AUC";
export const title = ({ page }) => ["ROC", `area ${page.card.metrics.auc.toFixed(3)}`];

export const sentence = ({ page: { card: { metrics } } }) => (metrics?.roc
  ? `In ${(100 * metrics.auc).toFixed(1)} % of all pairs of an accepted and a refused token, the accepted one has the higher estimate.` : "");

const AXES = ["refused tokens that pass", "accepted tokens that pass"];
const sorted = ({ page }) => [...page.card.metrics.roc].sort((a, b) => a[0] - b[0] || a[1] - b[1]);

export const table = (data) => made(AXES, sorted(data).map(([x, y]) => [x.toFixed(3), y.toFixed(3)]));

export const legend = () => ["Share of accepted tokens that pass, over the share of refused tokens that pass. The diagonal is guessing."];

export const draw = (picture, data) => plot(picture, {
  x: shareAxis(AXES[0]), y: shareAxis(AXES[1]), height: 300, layers: [diagonal],
  series: [{ name: "accepted", points: sorted(data), layer: line(sorted(data), `s-${data.page.strategy}`) }],
});
