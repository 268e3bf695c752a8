// The page of a classifier: where to stop, whether it means what it says, and how it learnt.

import { explore } from "../forms/explorer.js";
import { Learning } from "../live/learning.js";
import { begin, fold } from "../live/log.js";
import { plot } from "../core/plot.js";
import { percent, twin } from "../core/tables.js";

const { card, lines } = JSON.parse(document.getElementById("page").textContent);
const measured = card.metrics ?? {};
const share = { low: 0, high: 1, format: percent, at: [0, 0.25, 0.5, 0.75, 1] };
const SQUARE = 300;

if (card.sweep) explore(card);
if (measured.reliability) reliability(measured.reliability);
if (measured.roc) {
  curve("roc", measured.roc, "refused tokens let through", "accepted ones let through", [{ kind: "diagonal", cls: "" }]);
  curve("pr", measured.pr, "recall", "precision", [{ kind: "level", at: measured.positives ?? 0, cls: "" }]);
}
if (document.getElementById("losses")) new Learning().draw(lines.reduce(fold, begin()).epochs);

function reliability(bins) {
  const most = Math.max(...bins.map((bin) => bin[2]));
  const points = bins.map(([said, was, count]) => ({ x: said, y: was, count, r: 2 + 7 * Math.sqrt(count / most) }));
  plot(document.getElementById("reliability"), () => ({
    x: { ...share, label: "what it says" }, y: { ...share, label: "accepted" }, height: SQUARE,
    layers: [
      { kind: "diagonal", cls: "" },
      { kind: "line", points: points.map((point) => [point.x, point.y]), cls: "s-disco" },
      { kind: "dots", points, cls: "s-disco", title: (point) => `says ${percent(point.x)}, ${percent(point.y)} of ${point.count} accepted` },
    ],
  }));
  twin("reliability", ["it says", "accepted", "tokens"], bins.map(([said, was, count]) => [percent(said), percent(was), count]));
}

function curve(name, found, across, up, layers) {
  const points = [...found].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  plot(document.getElementById(name), () => ({
    x: { ...share, label: across }, y: { ...share, label: up }, height: SQUARE, layers: [...layers, { kind: "line", points, cls: "s-disco" }],
  }));
  twin(name, [across, up], points.map(([x, y]) => [x.toFixed(3), y.toFixed(3)]));
}
