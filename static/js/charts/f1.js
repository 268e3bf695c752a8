// How a classifier learns: its F1 on held-out prompts by epoch.

import { line, plot } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { epochAxis } from "./losses.js";

export const on = { training: 2, classifier: 5 };
export const term = "F1";
export const title = "F1 by epoch";

export const sentence = ({ epochs }) => (epochs.length
  ? `On held-out prompts F1 is ${epochs.at(-1).held_out_f1.toFixed(3)} after epoch ${epochs.at(-1).epoch}. ` +
    "Tokens with an estimate of 0.5 or more count as accepted." : "");

export const table = ({ epochs }) => made(["epoch", "held-out F1"], epochs.map((epoch) => [epoch.epoch, epoch.held_out_f1.toFixed(4)]));

export function draw(picture, { epochs }) {
  const points = epochs.map((epoch) => [epoch.epoch, epoch.held_out_f1]);
  plot(picture, { x: epochAxis(epochs), y: { low: 0, high: 1 }, series: [{ name: "held-out F1", points, layer: line(points, "accent") }] });
}
