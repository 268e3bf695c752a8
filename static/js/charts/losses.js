// How a classifier learns: its loss by epoch.

import { seriesKey } from "../core/picture.js";
import { line, plot } from "../core/plot.js";
import { table as made } from "../core/tables.js";

export const on = { training: 1, classifier: 4 };
export const term = "BCE";
export const title = "Loss by epoch";

export function sentence({ epochs }) {
  if (!epochs.length) return "";
  const last = epochs.at(-1), best = epochs.reduce((one, other) => (other.held_out_loss < one.held_out_loss ? other : one));
  return `Epoch ${last.epoch}: ${last.train_loss.toFixed(3)} in training and ${last.held_out_loss.toFixed(3)} held out. ` +
    `Lowest held out: ${best.held_out_loss.toFixed(3)} in epoch ${best.epoch}, whose weights are kept.`;
}

export const table = ({ epochs }) => made(["epoch", "training loss", "held-out loss"],
  epochs.map((epoch) => [epoch.epoch, epoch.train_loss.toFixed(4), epoch.held_out_loss.toFixed(4)]));

export const legend = () => [seriesKey("line soft broken", "training"), seriesKey("line accent", "held out")];

export function draw(picture, { epochs }) {
  const losses = ["train_loss", "held_out_loss"].map((name) => epochs.map((epoch) => [epoch.epoch, epoch[name]]));
  const values = losses.flat().map((point) => point[1]), low = Math.min(...values), high = Math.max(...values);
  const room = 0.05 * (high - low || high || 1);
  plot(picture, {
    x: epochAxis(epochs),
    y: { low: low - room, high: high + room },
    series: [["training", "soft broken"], ["held out", "accent"]].map(([name, cls], i) => ({ name, points: losses[i], layer: line(losses[i], cls) })),
  });
}

export const epochAxis = (epochs) => (
  { low: epochs[0].epoch, high: Math.max(epochs.at(-1).epoch, epochs[0].epoch + 1), label: "epoch", link: "epoch", isWhole: true });
