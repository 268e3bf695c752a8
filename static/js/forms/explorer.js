// The threshold explorer: what moving a classifier's threshold would do, from recorded prompts and measured costs.

import { plot, speedupAxis } from "../core/plot.js";
import { times, twin } from "../core/tables.js";

const RULES = {
  priced: "It stops when one more token costs more time than it can bring.",
  threshold: "It stops after a token that it gives less than the threshold, as published.",
};

/** The point of a sweep that is nearest to a threshold. */
export const nearest = (points, threshold) =>
  points.reduce((one, other) => (Math.abs(other.threshold - threshold) < Math.abs(one.threshold - threshold) ? other : one));

export function explore(card) {
  const slider = document.getElementById("threshold"), now = document.getElementById("threshold-now"), told = document.getElementById("told");
  const radios = [...document.querySelectorAll("input[name=rule]")];
  const bounds = [
    { name: "best static", strategy: "static", at: card.predicted?.["best static"] },
    { name: "oracle", strategy: "oracle", at: card.predicted?.oracle },
  ].filter((bound) => bound.at);
  const rule = () => radios.find((radio) => radio.checked)?.value ?? radios[0].value;
  const points = () => card.sweep[rule()];
  const all = Object.values(card.sweep).flat().map((point) => point.speedup);
  const y = speedupAxis([...all, ...bounds.map((bound) => bound.at)]);

  const draw = plot(document.getElementById("sweep"), () => {
    const chosen = nearest(points(), Number(slider.value));
    const own = card.thresholds?.[rule()];
    const ownPoint = own === undefined || own === null ? null : nearest(points(), own);
    return {
      x: { low: 0, high: 1, label: "threshold" }, y,
      layers: [
        { kind: "level", at: 1, cls: "" },
        ...bounds.map((bound) => ({ kind: "level", at: bound.at, cls: `s-${bound.strategy} bound`, label: bound.name })),
        ...Object.entries(card.sweep).filter(([name]) => name !== rule()).map(([, other]) => ({ kind: "line", points: other.map((point) => [point.threshold, point.speedup]), cls: "other" })),
        { kind: "line", points: points().map((point) => [point.threshold, point.speedup]), cls: "s-disco" },
        { kind: "upright", at: chosen.threshold, cls: "now" },
        { kind: "dots", points: [{ x: chosen.threshold, y: chosen.speedup, r: 6 }], cls: "s-disco now", title: (point) => times(point.y) },
        ownPoint ? { kind: "mark", strategy: "threshold", x: own, y: ownPoint.speedup, r: 5, cls: "own" } : null,
      ].filter(Boolean),
    };
  });

  function show() {
    const chosen = nearest(points(), Number(slider.value));
    now.textContent = chosen.threshold.toFixed(2);
    const gain = bounds.find((bound) => bound.strategy === "static");
    const beside = gain ? `, ${percentOf(chosen.speedup / gain.at)} the best static lookahead` : "";
    told.textContent = `${times(chosen.speedup)} predicted${beside}: ${chosen.drafted.toFixed(1)} tokens drafted a round, ${chosen.accepted.toFixed(1)} of them accepted. ${RULES[rule()] ?? ""}`;
    fill("disco.rule", rule());
    fill("disco.threshold", chosen.threshold);
    draw();
  }

  function begin() {
    slider.value = card.thresholds?.[rule()] ?? 0.5;
    show();
  }

  slider.addEventListener("input", show);
  for (const radio of radios) radio.addEventListener("change", begin);
  begin();
  const rules = Object.keys(card.sweep);
  twin("sweep", ["threshold", ...rules], card.sweep[rules[0]].map((point, i) => [point.threshold, ...rules.map((name) => times(card.sweep[name][i]?.speedup))]));
}

const percentOf = (ratio) => (ratio >= 1 ? `${((ratio - 1) * 100).toFixed(0)} % faster than` : `${((1 - ratio) * 100).toFixed(0)} % slower than`);

function fill(name, value) {
  const box = document.querySelector(`.run-it [name="${name}"]`);
  if (box) box.value = value;
}
